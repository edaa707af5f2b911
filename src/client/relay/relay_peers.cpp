#include "client/relay/relay_peers.hpp"

#include "shared/core/random.hpp"

#include <algorithm>

namespace dockdist {

std::vector<wire::RelayPeers> make_peers(const std::vector<std::string>& addresses, bool origin) {
    constexpr std::size_t most = 3;
    std::vector<wire::RelayPeers> peers(addresses.size());
    std::vector<std::size_t> before; // nearest first
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        auto asked = before;
        asked.resize(std::min(most, before.size()));
        if (origin && before.size() > most && !addresses.front().empty()) {
            asked.push_back(0);
        }
        for (const auto j : asked) {
            wire::RelayPair pair{.asking = static_cast<int>(i), .key = random_hex(64)};
            peers[j].downstreams.push_back(pair);
            pair.address = addresses[j];
            peers[i].upstreams.push_back(std::move(pair));
        }
        if (!addresses[i].empty()) {
            before.insert(before.begin(), i);
        }
    }
    return peers;
}

} // namespace dockdist

// Fetching: each blob once, on a thread of its own, from the nearest relay that gives it, and else from the
// client.
#pragma once

#include "node/relay/relay_channel.hpp"
#include "node/relay/relay_client.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

class RelayFetcher {
public:
    RelayFetcher(RelayStore& store, RelayClient& client, DiskComplaint& disk)
        : store_(store), client_(client), disk_(disk) {}

    // Once, before all others. What the nearest has of the image before it is known comes from then on.
    void begin(std::vector<wire::RelayPair> upstreams);
    // Begins to fetch it unless that was done.
    void have_fetched(const std::string& digest);

private:
    void take_ahead_of_nearest();
    void fetch(const std::string& digest);
    void fetch_from(const wire::RelayPair& upstream, const std::string& digest);

    RelayStore& store_;
    RelayClient& client_;
    DiskComplaint& disk_;
    std::vector<wire::RelayPair> upstreams_{};
};

} // namespace dockdist::node

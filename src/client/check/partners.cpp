#include "client/check/partners.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {

std::vector<std::size_t> quick_peers(std::size_t node, std::size_t nodes) {
    constexpr std::size_t few = 4;
    std::vector<std::size_t> peers;
    if (nodes <= few) { // each begins with its next: not all with the first one
        for (std::size_t step = 1; step < nodes; ++step) {
            peers.push_back((node + step) % nodes);
        }
        return peers;
    }
    return {(node + 1) % nodes, (node + nodes / 2) % nodes};
}

std::vector<PeerRound> further_rounds(std::size_t nodes, std::size_t at_once) {
    std::vector<PeerRound> rounds;
    std::size_t in_round = at_once;
    for (std::size_t step = 1; step < nodes; ++step) {
        const auto quick = quick_peers(0, nodes);
        if (std::ranges::find(quick, step) != quick.end()) { // each is so many steps away, whoever asks
            continue;
        }
        if (in_round == at_once) {
            rounds.emplace_back(nodes);
            in_round = 0;
        }
        ++in_round;
        for (std::size_t node = 0; node < nodes; ++node) {
            rounds.back()[node].push_back((node + step) % nodes);
        }
    }
    return rounds;
}

std::string part_of_pairs(std::size_t tried, std::size_t nodes) {
    const auto all = nodes * (nodes - 1);
    return tried >= all ? "" : fmt::format(" ({} of {} pairs; `check --deep` tries all)", tried, all);
}

} // namespace dockdist

#include "shared/measurement/pair_rounds.hpp"

#include <algorithm>

namespace dockdist {

std::vector<std::vector<Pair>> pair_rounds(std::size_t nodes) {
    std::vector<std::vector<Pair>> rounds;
    if (nodes < 2) {
        return rounds;
    }
    const auto seats = nodes + nodes % 2; // of an odd number, who meets the empty seat rests
    for (std::size_t round = 0; round + 1 < seats; ++round) {
        // The last seat stays, the others move on by one each round.
        const auto at = [&](std::size_t seat) {
            return seat + 1 == seats ? seat : (seat + round) % (seats - 1);
        };
        auto& pairs = rounds.emplace_back();
        for (std::size_t seat = 0; seat < seats / 2; ++seat) {
            const auto [first, second] =
                std::minmax({at(seat == 0 ? seats - 1 : seat), at(seat == 0 ? 0 : seats - 1 - seat)});
            if (second < nodes) {
                pairs.emplace_back(first, second);
            }
        }
        std::ranges::sort(pairs);
    }
    return rounds;
}

} // namespace dockdist

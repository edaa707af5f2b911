// Every pair of nodes once, in rounds of pairs that share no node, so that a round's pairs run side by side
// and none disturbs another: the circle method of round-robin tournaments. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace dockdist {

using Pair = std::pair<std::size_t, std::size_t>; // first < second

// N−1 rounds of N/2 pairs for an even N; N rounds, in each of which another node rests, for an odd one. None
// for N < 2.
std::vector<std::vector<Pair>> pair_rounds(std::size_t nodes);

} // namespace dockdist

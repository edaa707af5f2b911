// Which node or link is slow, from the bandwidth of every pair, and which of several equal ones is. Pure.
//
// Compared is with the median, and the spread is the median absolute deviation: one bad measurement moves
// neither. What lies below the median by more than three deviations (as those of a normal distribution) and
// by more than a share of the median counts as slow; the share keeps noise of a few per cent from being
// named.
#pragma once

#include "shared/measurement/pair_rounds.hpp"

#include <cstddef>
#include <vector>

namespace dockdist {

inline constexpr double slow_share = 0.15;

// The places of the measurements (bandwidths: more is better) that are slow beside the others. Needs three
// measurements at least: of two that differ, nobody can say which one is right.
std::vector<std::size_t> slow_ones(const std::vector<double>& measurements, double share = slow_share);

struct PairMeasurement {
    Pair pair{};
    double bandwidth = 0; // in any unit, the same for all
};

struct SlowParts {
    std::vector<std::size_t> nodes{}; // all of the node's pairs are slow: its GPU, NIC or cable
    std::vector<Pair> links{};        // slow although both of its nodes are fast with others
    double usual = 0;                 // the median of the pairs of nodes that are not slow
};
// A node that is in no measurement is in neither list.
SlowParts find_slow(std::size_t nodes, const std::vector<PairMeasurement>& measurements,
                    double share = slow_share);

} // namespace dockdist

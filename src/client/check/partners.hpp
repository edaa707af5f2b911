// Whom the nodes of a check log in to and meet on a port. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

// Of a quick check: all others where they are few; of many, two, so that logins and meetings together are no
// more than four connections a node.
std::vector<std::size_t> quick_peers(std::size_t node, std::size_t nodes);

// The rest of them for a deep check, in rounds: for each round, whom each node tries. In none of them more
// than a few try the same one.
using PeerRound = std::vector<std::vector<std::size_t>>; // by node
std::vector<PeerRound> further_rounds(std::size_t nodes, std::size_t at_once);

// " (32 of 240 pairs; `check --deep` tries all)"; empty where all were tried.
std::string part_of_pairs(std::size_t tried, std::size_t nodes);

} // namespace dockdist

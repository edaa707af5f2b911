// Whom a node tries to reach, where all pairs would be too many. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist::wire {

// The places of the nodes that the node at `place` tries: three at most, so all others in a cluster of four.
// `hosts` names each node's host, by its address. Nodes are taken by turns from all hosts; in that order a
// node tries the next one, the one after that, and the one half way round. So every node is tried by three
// others, and where hosts hold equally many, by one of another host. One of a node's own partners is of
// another host wherever there is one.
std::vector<std::size_t> partners_of(std::size_t place, const std::vector<std::string>& hosts);

} // namespace dockdist::wire

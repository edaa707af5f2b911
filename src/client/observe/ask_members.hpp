// Whom the nodes of a cluster know, beyond those that stand on the hosts of the file.
#pragma once

#include "client/observe/observe.hpp"

namespace dockdist {

// Who was a member when these nodes last joined, or before, as far as they remember it (boot/node_state.cpp).
// One exec each, side by side, in a few of them; of one that does not say it, nothing.
Task<std::vector<wire::NodeRecord>> ask_members(const Engines& engines, std::vector<ReadyNode> nodes);

} // namespace dockdist

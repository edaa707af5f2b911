// What nodes are asked for when they join, and whether they still are where the file wants them.
#pragma once

#include "client/plan/plan.hpp"

#include <vector>

namespace dockdist {

// One for each of `nodes`, which are all that join.
std::vector<wire::JoinRequest> join_requests(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes);

// What `join`, a node on `host`, is told of variables and of the folder of jobs; and where the node has
// joined already, why it would join otherwise now. What the file said of its place is held to what it says
// now: that a name or a subnet leads elsewhere than it did, nobody can tell here.
const ObservedNode* settle(const ClusterSpec& spec, const ObservedHost& host, JoinNode& join);

} // namespace dockdist

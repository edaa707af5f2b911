// What nodes are asked for when they join, and whether they still are where the file wants them.
#pragma once

#include "plan/plan.hpp"

#include <vector>

namespace dockdist {

// One for each of `nodes`, which are all that join.
std::vector<wire::JoinRequest> join_requests(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes);

// Whether a node that has joined would join as another now: the file names another address, interface or
// subnet than those of its record, another count of slots or another use of RDMA. Nobody here can tell it of
// a name.
bool joins_otherwise(const wire::JoinRequest& request, const wire::NodeRecord& record);

} // namespace dockdist

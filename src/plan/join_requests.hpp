// What nodes are asked for when they join, and whether they still are where the file wants them.
#pragma once

#include "plan/plan.hpp"

#include <vector>

namespace dockdist {

// One for each of `nodes`, which are all that join.
std::vector<wire::JoinRequest> join_requests(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes);

// Why a node that has joined, `there`, would join otherwise now, into its `join`. What the file said of its
// place is held to what it says now: that a name or a subnet leads elsewhere than it did, nobody can tell
// here.
void tell_cause(const ClusterSpec& spec, const ObservedNode& there, JoinNode& join);

// What the file says of jobs and sessions on a host's nodes, as far as it comes late (plan/fingerprint.hpp).
wire::NodeSettings node_settings(const ClusterSpec& spec, const HostSpec& host);
// And takes back what the container of `there` was created with and the file says no more: the image's own
// comes again, where `image` (null: not known) has it.
void forget_earlier_settings(const ObservedNode& there, const ImageDetails* image,
                             wire::NodeSettings& settings);

} // namespace dockdist

// A node that is made anew keeps its old container until the new one is ready; and what an `up` that was cut
// off in between has left is undone, or finished.
#pragma once

#include "client/plan/plan.hpp"

#include <functional>

namespace dockdist {

inline constexpr const char* left_behind = "an `up` that was interrupted left it";

// An `up` has set the old container aside, and come to no end with the new one, `there`.
bool is_half_replaced(const ObservedHost& host, const ObservedNode& there);

// What `there` has to be replaced for `cause` means for it, and for one that was set aside before: the one
// that works is kept until the new one is ready. Nothing: neither can be.
std::optional<ReplacedNode> plan_replacement(const ObservedHost& host, const NodeSpec& node,
                                             const ObservedNode& there, const std::string& cause, Plan& plan);

// Before hosts without a name in the file were called after their machines, they were by their places there
// ("node-3", "node-3-0"): the first such node of the host that is `free`, or null.
const ObservedNode* called_by_position(const HostSpec& spec, const ObservedHost& host,
                                       const std::function<bool(const ObservedNode&)>& free);

// `there` stays as it is: it has its own name, and no other beside it.
void finish_replacement(const ClusterSpec& spec, const ObservedHost& host, const NodeSpec& node,
                        const ObservedNode& there, Plan& plan);

// For when `plan` has failed and its replaced containers are back: the nodes that were ready, and that it has
// not removed, know each other again. None of the hosts that are left out.
std::vector<JoinNode> joins_as_it_was(const ClusterSpec& spec, const ObservedCluster& observed,
                                      const Plan& plan, const std::vector<bool>& left_out);

} // namespace dockdist

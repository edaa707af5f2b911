// The start of a node's container. A new one is asked to join beforehand, on its stdin, so that its first
// process begins with that at once, and no exec is needed.
#pragma once

#include "client/cluster/join.hpp"
#include "client/plan/plan.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace dockdist {

wire::JoinRequest request_of(const JoinNode& join, std::chrono::milliseconds ready_timeout);

// The stream to the first process, which has been asked; empty: the container stood before, perhaps without a
// stdin, and is to be asked by an exec.
using JoinStreamOrNone = std::unique_ptr<ExecStream>;

// `join`: nothing where the node is not to join.
Task<Result<JoinStreamOrNone>> start_node_container(ContainerEngine& engine, ContainerId id, bool is_new,
                                                    std::optional<wire::JoinRequest> join);

} // namespace dockdist

// The container of a node, made in an engine that may hold what an earlier `up` has left.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/plan/plan.hpp"

#include <optional>

namespace dockdist {

// What is in the way from an `up` of the same file that was cut off is replaced. Without RDMA or IMEX devices
// where the host has none. Errors: conflict (a container of that name that is somebody else's), those of the
// engine.
Task<Result<ContainerId>> create_node_container(ContainerEngine& engine, const CreateNode& create);

// The same in place of `made`, which did not start for `why`: with the limits that the engine gives by
// itself, where it has refused one that was only asked for if allowed. Nothing: it is for something else.
Task<std::optional<Result<ContainerId>>> create_with_own_limits(ContainerEngine& engine, CreateNode create,
                                                                ContainerId made, Error why);

} // namespace dockdist

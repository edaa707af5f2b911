// An engine of our own on a node of the allocation: rootless Podman, in a step that lasts as long as that.
#pragma once

#include "client/engine/transport/srun/node_step.hpp"

namespace dockdist {

// Starts it and waits until it takes connections on engine_socket(); where another command has begun with
// that, waits for its. Errors: what Podman wrote when it ends early, timeout, those of NodeStep.
Task<Status> start_own_engine(boost::asio::any_io_executor executor, SlurmPlace place, std::string folder,
                              NodeStep::Handle step);

} // namespace dockdist

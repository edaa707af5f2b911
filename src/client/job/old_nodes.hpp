// GPUs that no board knows of (shared/gpu/board.hpp): those of jobs in nodes that an older dockdist created.
#pragma once

#include "client/observe/observe.hpp"
#include "shared/wire/gpus.hpp"

#include <vector>

namespace dockdist {

// For GpuAsk::taken: by host, as many as `observed` has. Costs nothing on a host without such nodes, else one
// exec in each that runs, and one or two more where a job runs in it. A node that does not answer is passed
// over: memory in use on its GPUs tells of it, too.
Task<std::vector<std::vector<wire::GpuHold>>> held_in_old_nodes(const Engines& engines,
                                                                const ObservedCluster& observed);

} // namespace dockdist

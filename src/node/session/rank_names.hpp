// What launchers call a rank's numbers. Pure.
#pragma once

#include "node/system/environment.hpp"

namespace dockdist::node {

// RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE from what Open MPI, PMI (MPICH), Slurm, Horovod or
// DeepSpeed call them, where they are not set.
void name_ranks(Environment& environment);

} // namespace dockdist::node

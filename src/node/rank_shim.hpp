// One rank of a job, started by a launcher.
#pragma once

#include "node/environment.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init rank -- CMD…`: one rank, started by a launcher. CMD runs as a child in a process group of
// its own; its output goes straight to the job's supervisor on this node, with the rank on it, and so does
// its true exit status, at once. Where there is no supervisor (a rank that came by ssh), it just inherits.
// Ends as CMD ended: same code, same signal.
int run_rank(const std::vector<std::string>& arguments);

// Pure: RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE from what Open MPI, PMI (MPICH) or Slurm call them,
// where they are not set.
void name_ranks(Environment& environment);

} // namespace dockdist::node

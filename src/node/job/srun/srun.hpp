// srun, for the launch lines that people have from Slurm: a front to the launcher slurm.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// Runs the command as tasks on nodes of the cluster, each node's over the toolkit's ssh; what ends srun ends
// all of it. Returns the greatest of the tasks' codes, 128 + signal for one that a signal ended; 1 where
// nothing could be started, or a node was lost.
int run_srun(const std::vector<std::string>& arguments);

} // namespace dockdist::node

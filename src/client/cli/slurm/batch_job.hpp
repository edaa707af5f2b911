// What runs inside of an allocation of Slurm, in its batch script.
#pragma once

#include "client/cli/context.hpp"

#include <string>
#include <vector>

namespace dockdist {

// `words` is a `run` line. The hosts are the allocation's. The cluster is taken down whatever happens;
// SIGUSR1, of `sbatch --signal=B:USR1@SECONDS`, ends the job as --timeout does. Answers with run's own code.
Task<int> run_batch_job(Context& context, const Program& program, std::vector<std::string> words);

// What can be known of a job before it has nodes.
struct BatchLine {
    Work run{};
    ClusterSpec spec{}; // without the allocation's hosts, and under a name that is not yet its own
    Errors errors{};    // usage, config: no `run` line, or one that does not fit the file
};
// Makes the hosts those of the allocation, where neither the file nor --hosts says so.
BatchLine read_batch_line(Context& context, const Program& program, const std::vector<std::string>& words);

} // namespace dockdist

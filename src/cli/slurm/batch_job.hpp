// What runs inside of an allocation of Slurm, in its batch script.
#pragma once

#include "cli/context.hpp"

#include <string>
#include <vector>

namespace dockdist {

// `words` is a `run` line. The hosts are the allocation's. The cluster is taken down whatever happens;
// SIGUSR1, of `sbatch --signal=B:USR1@SECONDS`, ends the job as --timeout does. Answers with run's own code.
Task<int> run_batch_job(Context& context, const Program& program, std::vector<std::string> words);

// That the words are a `run` line that is right. Errors: usage.
Result<Work> read_run_line(const Program& program, const std::vector<std::string>& words);

// Makes the hosts those of the allocation, where neither the file nor --hosts says so. Errors: what is wrong
// with the file. Its hosts are not known here, and its name is not yet the allocation's own.
Loaded take_hosts_of_slurm(Context& context);

} // namespace dockdist

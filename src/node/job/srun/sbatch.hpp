// Batch scripts of Slurm's, run here and now: no queue, and what they write stays where it is written.
#pragma once

#include "node/job/srun/srun_layout.hpp"
#include "node/job/srun/srun_options.hpp"
#include "shared/core/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist::node {

// What is known of a batch job, beside its options.
struct BatchJob {
    std::string id{};
    std::string script{}; // a path, empty: none
    std::string folder{}; // that sbatch was called in
    std::string host{};   // the node that the script runs on
    std::string cluster{};
    std::string user{};
    int cpus = 1; // of that node
    long uid = 0, gid = 0;
};

// Pure: the nodes that sbatch would get: one where nothing else is said. With the tasks in them; errors are
// in Slurm's words.
Result<std::vector<SrunNode>> lay_out_batch(SrunOptions& options, const std::vector<SrunNode>& available);

// Pure: what the script sees of Slurm's variables. `nodes` as lay_out_batch() has chosen them.
std::map<std::string, std::string> batch_variables(const SrunOptions& options,
                                                   const std::vector<SrunNode>& nodes, const BatchJob& job);

// `sbatch [OPTIONS] SCRIPT…`, `--wrap LINE`, or a script on stdin: becomes it. Returns where it cannot.
int run_sbatch(const std::vector<std::string>& arguments);
// `dockdist-init batch COMMAND…`: the same for `bash train.sbatch`, as it stands (as_batch()).
int run_batch(const std::vector<std::string>& command);

// A script that a shell runs without sbatch (`bash train.sbatch` in a login) has none of this; its #SBATCH
// lines count for each srun of it all the same. Sets this process's environment.
void enter_script_of_caller();

} // namespace dockdist::node

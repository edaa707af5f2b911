// The command lines of srun and sbatch, as Slurm 22.05 reads them.
#pragma once

#include "node/session/batch_script.hpp"
#include "node/system/environment.hpp"
#include "shared/core/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// --export: which of srun's own variables the tasks get. The nodes' own are there in any case.
struct ExportedVariables {
    bool all = true;
    std::vector<std::string> names{};
    std::map<std::string, std::string> values{};
};

struct SrunOptions {
    enum class What { run, help, version };
    What what = What::run;
    std::vector<std::string> command{};
    std::vector<std::string> remarks{}; // what was asked for, and is not done; one line each

    std::optional<int> tasks{};          // -n
    std::optional<int> nodes{};          // -N, the least of a range
    int most_nodes = 0;                  // the most of it; as many are taken as there are
    std::optional<int> tasks_per_node{}; // at most, where there is -n
    std::optional<int> tasks_per_gpu{};
    std::optional<int> cpus_per_task{};
    std::optional<int> gpus{}; // of all nodes together
    std::optional<int> gpus_per_node{};
    std::optional<int> gpus_per_task{};
    int relative = 0;        // so many nodes are left out at the beginning
    std::string node_list{}; // -w
    std::string excluded{};  // -x
    bool overcommit = false; // more tasks than slots

    ExportedVariables exported{};
    std::string folder{};     // --chdir
    std::string own_folder{}; // srun's own
    std::string job_name{};
    std::string partition{};
    std::string input = "all"; // "all", "none", a task's number, or a file's name
    std::string output{};      // a pattern; empty: srun's own stdout
    std::string error{};       // empty: where stdout goes, if that is a file
    bool append = false;
    bool label = false;
    bool unbuffered = false;
    bool quiet = false;
    bool kill_on_bad_exit = false;
    int wait_s = 0; // after a task's end the others are ended; 0: they are not

    // sbatch's alone
    std::string array{};
    std::string wrap{};
    bool parsable = false;
};

// What the command line does not say stands in Slurm's own variables for it. Errors are srun's, in one line:
// usage where an option is unknown or lacks its value, config where its value is wrong.
// An option that lacks its value takes no other word for it where that can be told: not an option, and not
// the command.
Result<SrunOptions> parse_srun(const std::vector<std::string>& arguments, const Environment& environment);
// The lines of the script, then the command line; `command` is the script with its words. An option of a line
// that nobody knows is a remark.
Result<SrunOptions> parse_sbatch(const std::vector<std::string>& arguments,
                                 const std::vector<BatchLine>& lines);

// What `--help` and `--version` of that program print; nothing: it is to run.
std::optional<std::string> srun_answer(const SrunOptions& options, const std::string& program);

} // namespace dockdist::node

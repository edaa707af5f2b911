// A job as it is written down for another engine: what cluster.yaml and the options of `run` ask for, and
// nothing of any host.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/error.hpp"
#include "shared/core/result.hpp"
#include "shared/launch/launcher.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct ExportJob {
    ClusterSpec spec{};
    std::string name{}; // --name, or the cluster's
    Launcher launcher{};
    LaunchRequest request{}; // its nodes have a name, slots and GPUs, as placed() gives them
    std::map<std::string, std::string>
        env{}; // of every process: the file's, under --env. Launchers set theirs over the file's
    std::map<std::string, std::string> own_env{}; // --env alone: over what launchers set
    std::vector<std::string> secrets{};           // names; values are never here
    std::string workdir{};                        // in the container; empty: the image's
    int gpus = 0;                                 // that the job has of each node
    bool amd = false;                             // they are AMD's
    bool whole_nodes = true;                      // it has all GPUs of its nodes, or these have none
    std::chrono::milliseconds timeout{0};         // 0: none
    std::chrono::milliseconds grace{0};
    std::chrono::milliseconds backoff{0};
    int max_restarts = 0;
    bool env_differs = false;      // hosts of the file have `env` of their own
    bool mig = false;              // the file's GPUs are instances of MIG's
    bool sync = true;              // not --no-sync
    std::set<std::string> given{}; // the options that stand on the command line: "--stall"
    Errors warnings{};             // what of it has been left out so far, by name
};

// What an export prints.
struct Exported {
    std::string text{};
    std::string json{}; // what -o json prints in its place; empty: {"text": …}
    Errors warnings{};  // what was asked for and has no counterpart, by name
};

// The nodes of the file that a job is over, for launchers. `chosen`: by name, in the job's order; more than
// these where `count` says so, alike the last one. `gpus`: --gpus. Errors (config): GPUs that nobody has
// counted; nodes with different numbers of GPUs, which an engine cannot be asked for in one job.
struct Placed {
    std::vector<LaunchNode> nodes{};
    int gpus = 0; // of each
    bool amd = false;
    bool whole_nodes = true;
    std::map<std::string, std::string> env{}; // that the hosts of all nodes have alike
    bool env_differs = false;                 // some have another
    bool mig = false;                         // their GPUs are instances of MIG's, or some are
};
Result<Placed> placed(const ClusterSpec& spec, const std::vector<NodeName>& chosen, std::size_t count,
                      std::optional<int> gpus);

// What the file says, with `spec` and `own_env` as they are: nodes and GPUs, the environment, the names of
// secrets. What is a secret of the file stays one, with a warning where --env gives it a value.
void take_from_file(ExportJob& job, Placed nodes);

// Takes variables out of the environment that a shell cannot set, or that are the script's own there, and
// tells of each.
void take_out(ExportJob& job, const std::function<bool(const std::string& name)>& is_own);

// Errors (config): an image that no registry knows by what the file calls it.
Status check_image(const std::string& ref);

// Whether `container.user` names root, which is the default: "", "root", "0", with a group or without.
bool is_root(std::string_view user);

// A key of the file, or an option, that was asked for, and what to do where the engine has no counterpart.
struct Asked {
    std::string name{}; // "container.shm_size", "--stall"
    std::string hint{};
};
// Keys whose values are not the defaults, but for those that say how dockdist reaches hosts.
std::vector<Asked> asked_keys(const ClusterSpec& spec);
// Of the options of `run` those that mean something only where dockdist itself runs the job.
std::vector<Asked> asked_options(const ExportJob& job);
// One warning for each that is not in `mapped`. `engine`: "Slurm".
Errors unmapped(const ExportJob& job, const std::string& engine, const std::set<std::string>& mapped);

} // namespace dockdist

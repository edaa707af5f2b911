// A job as it is written down for another engine: what cluster.yaml and the options of `run` ask for, and
// nothing of any host.
#pragma once

#include "core/error.hpp"
#include "core/result.hpp"
#include "launch/launcher.hpp"
#include "spec/cluster_spec.hpp"

#include <chrono>
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
    bool sync = true;              // not --no-sync
    std::set<std::string> given{}; // the options that stand on the command line: "--stall"
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
};
Result<Placed> placed(const ClusterSpec& spec, const std::vector<NodeName>& chosen, std::size_t count,
                      std::optional<int> gpus);

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

// How a job's command becomes processes. A launcher is a pure function, one file each, entered in the table
// below.
#pragma once

#include "core/names.hpp"
#include "core/result.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// A node as a launcher sees it, in the order of the job's node ranks.
struct LaunchNode {
    NodeName name{};
    std::string address{}; // numeric
    int slots = 1;
    int gpus = 0;
};

struct LaunchRequest {
    JobId job{};
    std::vector<std::string> command{};       // what stands after `--`
    std::vector<LaunchNode> nodes{};          // at least one
    std::optional<int> ranks_per_node{};      // --gpus; default: each node's slots
    Port master_port{};                       // free on nodes[0], not sshd's
    std::map<std::string, std::string> env{}; // --env and secrets: reaches every rank
};

// What one node has to start. Nodes that start nothing (the others of an mpirun) have an empty argv.
struct NodeLaunch {
    NodeName node{};
    std::vector<std::string> argv{};
    std::map<std::string, std::string> env{};
    std::map<std::string, std::string> files{}; // path → content, made before the start
    int ranks = 0; // started on this node through `dockdist-init rank`; 0: the command itself is the one rank
    int first_rank = 0; // global rank of this node's local rank 0
};

using LaunchFunction = Result<std::vector<NodeLaunch>> (*)(const LaunchRequest& request);

struct Launcher {
    std::string_view name;
    std::string_view summary; // one line for --help
    LaunchFunction launch;
};

// One entry a file of this folder.
Result<std::vector<NodeLaunch>> launch_plain(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_torchrun(const LaunchRequest& request);

std::span<const Launcher> launchers();
// usage error with a suggestion when there is none of that name.
Result<Launcher> find_launcher(std::string_view name);

// MASTER_ADDR, MASTER_PORT, NODE_RANK, NNODES and request.env: what every launcher gives to every node.
std::map<std::string, std::string> common_env(const LaunchRequest& request, std::size_t node_rank);

// "train.py …" and "-m package …" as Python programs run them; anything else stays as it is.
std::vector<std::string> as_python_command(const std::vector<std::string>& command);

} // namespace dockdist

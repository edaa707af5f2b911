// TensorFlow: TF_CONFIG, by which its strategies find each other (tensorflow.org, "Multi-worker training";
// what reads it is TFConfigClusterResolver). A task is a process; each has a port of its own. Without
// parameter servers every node runs one task that trains, with all GPUs of the job there: workers, and with
// `chief=1` the first of them is the chief. With `ps=N` the chief coordinates and trains nothing, workers and
// parameter servers serve until they are ended, and the job ends with its first task.
#include "shared/core/ip_address.hpp"
#include "shared/launch/common.hpp"
#include "shared/launch/roles.hpp"
#include "shared/wire/layout.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

struct Task {
    std::string role{};
    int index = 0; // among those of its role
    bool trains = false;
};

// By node, in the order in which they start there: the chief is the job's first.
using Placement = std::vector<std::vector<Task>>;

struct RoleCounts {
    int chief = 0, worker = 0, ps = 0;
    bool coordinates = false; // the chief, where there is one
};

RoleCounts counts_of(const LaunchRequest& request) {
    RoleCounts counts;
    counts.ps = role_count(request.roles, "ps", 0);
    counts.coordinates = counts.ps > 0;
    counts.chief = role_count(request.roles, "chief", counts.coordinates ? 1 : 0);
    const auto nodes = static_cast<int>(request.nodes.size());
    counts.worker = role_count(request.roles, "worker", counts.coordinates ? nodes : nodes - counts.chief);
    return counts;
}

Placement place(const LaunchRequest& request) {
    const auto counts = counts_of(request);
    const auto nodes = request.nodes.size();
    Placement placement(nodes);
    for (int i = 0; i < counts.chief; ++i) {
        placement[0].push_back({"chief", i, !counts.coordinates});
    }
    // Where the chief trains too, it is the first node's, and the workers follow it.
    const auto before = static_cast<std::size_t>(counts.coordinates ? 0 : counts.chief);
    for (int i = 0; i < counts.worker; ++i) {
        placement[(before + static_cast<std::size_t>(i)) % nodes].push_back({"worker", i, true});
    }
    for (int i = 0; i < counts.ps; ++i) { // from the last node on: the first one has the chief
        placement[nodes - 1 - static_cast<std::size_t>(i) % nodes].push_back({"ps", i, false});
    }
    return placement;
}

nlohmann::ordered_json cluster_of(const LaunchRequest& request, const Placement& placement) {
    nlohmann::ordered_json cluster;
    for (const auto* role : {"chief", "worker", "ps"}) {
        std::map<int, std::string> tasks;
        for (std::size_t i = 0; i < placement.size(); ++i) {
            for (std::size_t j = 0; j < placement[i].size(); ++j) {
                if (placement[i][j].role == role) {
                    const auto& node = request.nodes[i];
                    tasks[placement[i][j].index] = address_and_port(node.address, node.ports.at(j).number);
                }
            }
        }
        for (const auto& [index, address] : tasks) {
            cluster[role].push_back(address);
        }
    }
    return cluster;
}

} // namespace

// As many as there can be tasks on a node, also of a job that goes on with fewer nodes.
int tensorflow_ports(const LaunchRequest& request) {
    const auto counts = counts_of(request);
    return std::max(counts.chief + counts.ps + (request.roles.contains("worker") ? counts.worker : 1), 1);
}

std::vector<Tool> tensorflow_tools(const LaunchRequest&) {
    return {{Tool::Kind::python_module, "tensorflow",
             "take an image with TensorFlow, or add it: `pip install tensorflow`"}};
}

Status check_tensorflow(const LaunchRequest& request) {
    const auto counts = counts_of(request);
    if (counts.chief > 1) {
        return Error{ErrorKind::usage, "--role",
                     "there is one chief at most, and " + std::to_string(counts.chief) + " were asked for",
                     "write chief=1"};
    }
    // Where nobody says how many workers there are, there are enough.
    if (role_count(request.roles, "worker", 1) < (counts.coordinates || counts.chief == 0 ? 1 : 0)) {
        return Error{ErrorKind::usage, "--role", "no worker is left to train", "write worker=1 or more"};
    }
    return ok;
}

namespace {

// Over the nodes that the job has: not the spare ones, and after a loss fewer.
Status check_placement(const LaunchRequest& request, const Placement& placement, int workers) {
    for (std::size_t i = 0; i < placement.size(); ++i) {
        const auto& node = request.nodes[i];
        const auto training = std::ranges::count(placement[i], true, &Task::trains);
        if (placement[i].empty()) {
            return Error{ErrorKind::usage, node.name.str(), "none of TensorFlow's tasks is left for it",
                         "take fewer nodes (--nodes), or more workers (--role)"};
        }
        if (training > 1 && node.gpus > 0) {
            return Error{ErrorKind::usage, node.name.str(),
                         std::to_string(training) +
                             " tasks that train would share its GPUs, and each takes all",
                         "one worker a node is enough: leave worker=" + std::to_string(workers) + " out"};
        }
    }
    return ok;
}

} // namespace

Result<std::vector<NodeLaunch>> launch_tensorflow(const LaunchRequest& request) {
    const auto counts = counts_of(request);
    const auto placement = place(request);
    TRY(check_placement(request, placement, counts.worker));
    const auto cluster = cluster_of(request, placement);
    auto launches = ranks_on_every_node(request);
    int first_rank = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& launch = launches[i];
        launch.ranks = static_cast<int>(placement[i].size());
        launch.first_rank = first_rank;
        first_rank += launch.ranks;
        for (const auto& task : placement[i]) {
            const nlohmann::ordered_json config{{"cluster", cluster},
                                                {"task", {{"type", task.role}, {"index", task.index}}}};
            auto& env = launch.start.rank_env.emplace_back();
            env["TF_CONFIG"] = config.dump();
            if (!task.trains) {
                env["CUDA_VISIBLE_DEVICES"] = "-1"; // else it would take the memory of every GPU that it sees
            }
        }
        launch.hosts_remote_ranks = counts.coordinates && i > 0;
        launch.start.leaves_servers = counts.coordinates && i == 0;
    }
    spawn_ranks(launches);
    return launches;
}

} // namespace dockdist

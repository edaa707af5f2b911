#include "shared/launch/slurm.hpp"

#include "shared/core/host_list.hpp"
#include "shared/launch/common.hpp"

namespace dockdist {
namespace {

std::string ranks_in(const NodeLaunch& launch) {
    std::string text;
    for (int rank = 0; rank < launch.ranks; ++rank) {
        text += (text.empty() ? "" : ",") + std::to_string(launch.first_rank + rank);
    }
    return text;
}

} // namespace

std::string slurm_job_number(std::string_view job) {
    std::uint32_t id = 2166136261; // FNV-1a
    for (const char c : job) {
        id = (id ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return std::to_string(1 + id % 9'999'999);
}

std::string slurm_counts(std::span<const int> of_nodes) {
    std::string text;
    for (std::size_t i = 0; i < of_nodes.size();) {
        std::size_t next = i + 1;
        while (next < of_nodes.size() && of_nodes[next] == of_nodes[i]) {
            ++next;
        }
        text += (text.empty() ? "" : ",") + std::to_string(of_nodes[i]) +
                (next - i > 1 ? "(x" + std::to_string(next - i) + ")" : "");
        i = next;
    }
    return text;
}

// What srun of Slurm 22.05 gives to its tasks, but for what only Slurm itself can make use of;
// tests/integration/node/test_srun.py holds them against it.
Result<std::vector<NodeLaunch>> launch_slurm(const LaunchRequest& request) {
    auto launches = on_every_slot(request);
    std::vector<std::string> names;
    std::vector<int> ranks;
    for (const auto& launch : launches) {
        names.push_back(launch.node.str());
        ranks.push_back(launch.ranks);
    }
    const auto list = host_list(names);
    const auto tasks_per_node = slurm_counts(ranks);
    const auto nodes = std::to_string(launches.size());
    const auto tasks = std::to_string(world_size(launches));
    const auto job = slurm_job_number(request.job.str());
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const auto& name = launches[i].node.str();
        const std::map<std::string, std::string> variables{
            {"SLURM_JOB_ID", job},
            {"SLURM_JOBID", job},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_STEPID", "0"},
            {"SLURM_JOB_NAME", request.job.str()},
            {"SLURM_NODELIST", list},
            {"SLURM_JOB_NODELIST", list},
            {"SLURM_STEP_NODELIST", list},
            {"SLURM_NNODES", nodes},
            {"SLURM_JOB_NUM_NODES", nodes},
            {"SLURM_STEP_NUM_NODES", nodes},
            {"SLURM_NODEID", std::to_string(i)},
            {"SLURMD_NODENAME", name},
            {"SLURM_TOPOLOGY_ADDR", name},
            {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
            {"SLURM_NTASKS", tasks},
            {"SLURM_NPROCS", tasks},
            {"SLURM_STEP_NUM_TASKS", tasks},
            {"SLURM_NTASKS_PER_NODE", std::to_string(launches[i].ranks)},
            {"SLURM_TASKS_PER_NODE", tasks_per_node},
            {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
            {"SLURM_GTIDS", ranks_in(launches[i])},
            {"SLURM_GPUS_ON_NODE", std::to_string(request.nodes[i].gpus)},
            {"SLURM_LAUNCH_NODE_IPADDR", request.nodes.front().address},
        };
        launches[i].start.env.insert(variables.begin(), variables.end());
    }
    return launches;
}

} // namespace dockdist

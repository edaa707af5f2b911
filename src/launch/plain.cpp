#include "launch/common.hpp"
#include "wire/layout.hpp"

namespace dockdist {
namespace {

// By dockdist-init's own spawner: nothing is asked of the image.
std::vector<NodeLaunch> on_every_slot(const LaunchRequest& request) {
    auto launches = ranks_on_every_node(request);
    const auto world = std::to_string(world_size(launches));
    for (auto& launch : launches) {
        launch.start.argv = {layout::init, "ranks", std::to_string(launch.ranks),
                             std::to_string(launch.first_rank), world};
    }
    return launches;
}

} // namespace

Result<std::vector<NodeLaunch>> launch_plain(const LaunchRequest& request) {
    if (request.per_rank) {
        return on_every_slot(request);
    }
    auto launches = ranks_on_every_node(request);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& launch = launches[i];
        launch.ranks = 0;
        launch.first_rank = static_cast<int>(i);
        launch.start.argv = request.command;
        launch.start.rank_command.clear();
        launch.start.env["RANK"] = std::to_string(i);
        launch.start.env["LOCAL_RANK"] = "0";
        launch.start.env["WORLD_SIZE"] = std::to_string(launches.size());
        launch.start.env["LOCAL_WORLD_SIZE"] = "1";
    }
    return launches;
}

Result<std::vector<NodeLaunch>> launch_slurm(const LaunchRequest& request) {
    auto launches = on_every_slot(request);
    std::string nodes;
    std::string tasks_per_node;
    for (const auto& launch : launches) {
        nodes += (nodes.empty() ? "" : ",") + launch.node.str();
        tasks_per_node += (tasks_per_node.empty() ? "" : ",") + std::to_string(launch.ranks);
    }
    // Slurm's job ids are numbers; scripts use them in file names and as seeds of port numbers.
    std::uint32_t id = 2166136261; // FNV-1a
    for (const char c : request.job.str()) {
        id = (id ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    const auto job = std::to_string(1 + id % 9'999'999);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const std::map<std::string, std::string> variables{
            {"SLURM_JOB_ID", job},
            {"SLURM_JOBID", job},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_JOB_NAME", request.job.str()},
            {"SLURM_NODELIST", nodes},
            {"SLURM_JOB_NODELIST", nodes},
            {"SLURM_STEP_NODELIST", nodes},
            {"SLURM_NNODES", std::to_string(launches.size())},
            {"SLURM_JOB_NUM_NODES", std::to_string(launches.size())},
            {"SLURM_NODEID", std::to_string(i)},
            {"SLURMD_NODENAME", launches[i].node.str()},
            {"SLURM_NTASKS", std::to_string(world_size(launches))},
            {"SLURM_NPROCS", std::to_string(world_size(launches))},
            {"SLURM_NTASKS_PER_NODE", std::to_string(launches[i].ranks)},
            {"SLURM_TASKS_PER_NODE", tasks_per_node},
            {"SLURM_GPUS_ON_NODE", std::to_string(request.nodes[i].gpus)},
            {"SLURM_LAUNCH_NODE_IPADDR", request.nodes.front().address},
        };
        launches[i].start.env.insert(variables.begin(), variables.end());
    }
    return launches;
}

} // namespace dockdist

// accelerate. Standalone: on every node, with a configuration that differs in machine_rank alone. --via pdsh:
// once, on the first node, and DeepSpeed's runner carries it to the others. Facts from
// accelerate/commands/launch.py and utils/launch.py.
#include "launch/common.hpp"

#include <algorithm>

namespace dockdist {
namespace {

bool on_cpu(const LaunchRequest& request) {
    return std::ranges::all_of(request.nodes, [](const LaunchNode& node) { return node.gpus == 0; });
}

// The main process's port is the rendezvous, never ssh's. num_processes is the total.
std::string configuration(const LaunchRequest& request, const std::vector<NodeLaunch>& launches,
                          std::size_t node_rank, const std::string& hostfile) {
    std::string text = "compute_environment: LOCAL_MACHINE\n";
    text += std::string("distributed_type: ") + (hostfile.empty() ? "MULTI_GPU" : "DEEPSPEED") + "\n";
    if (!hostfile.empty()) {
        text += "deepspeed_config:\n  deepspeed_multinode_launcher: pdsh\n  deepspeed_hostfile: " + hostfile +
                "\n  zero_stage: 2\n";
    }
    text += "num_machines: " + std::to_string(launches.size()) + "\n";
    text += "num_processes: " + std::to_string(world_size(launches)) + "\n";
    text += "machine_rank: " + std::to_string(node_rank) + "\n";
    text += "main_process_ip: " + request.nodes.front().address + "\n";
    text += "main_process_port: " + std::to_string(request.ports.front().number) + "\n";
    text += "gpu_ids: all\nmixed_precision: 'no'\nmain_training_function: main\n";
    text += "rdzv_backend: static\nsame_network: true\nuse_cpu: false\n";
    return text;
}

// A file of the user's own (`--launcher-arg=--config_file=F`) comes later and wins, but not over what names
// this cluster: these stand as options. Two of them count nowhere else.
std::vector<std::string> command(const LaunchRequest& request, const std::vector<NodeLaunch>& launches,
                                 std::size_t node_rank, const std::string& config) {
    return {"python",
            "-m",
            "accelerate.commands.launch",
            "--config_file=" + config,
            "--num_machines=" + std::to_string(launches.size()),
            "--num_processes=" + std::to_string(world_size(launches)),
            "--machine_rank=" + std::to_string(node_rank),
            "--main_process_ip=" + request.nodes.front().address,
            "--main_process_port=" + std::to_string(request.ports.front().number),
            "--rdzv_backend=static",
            "--same_network"};
}

Status check_even(const LaunchRequest& request, const std::vector<NodeLaunch>& launches) {
    for (std::size_t i = 1; i < launches.size(); ++i) {
        if (launches[i].ranks != launches[0].ranks) {
            return Error{ErrorKind::usage, launches[i].node.str(),
                         "accelerate starts the same number of ranks on each node; " +
                             launches[0].node.str() + " has " + std::to_string(launches[0].ranks) +
                             " slots and this one " + std::to_string(launches[i].ranks),
                         "use --gpus " + std::to_string(std::min(launches[0].ranks, launches[i].ranks)) +
                             (request.via.empty() ? ", or --launcher torchrun" : "")};
        }
    }
    return ok;
}

} // namespace

std::vector<Tool> accelerate_tools(const LaunchRequest& request) {
    std::vector<Tool> tools{
        {Tool::Kind::python_module, "accelerate",
         "take an image with accelerate, or add it: `pip install accelerate`"},
        {Tool::Kind::python_module, "torch", "take an image with PyTorch, or add it: `pip install torch`"}};
    if (!request.via.empty()) {
        tools.push_back({Tool::Kind::python_module, "deepspeed",
                         "add DeepSpeed: `pip install deepspeed`; or leave --via out"});
    }
    return tools;
}

Result<std::vector<NodeLaunch>> launch_accelerate(const LaunchRequest& request) {
    auto launches = ranks_on_every_node(request);
    if (auto even = check_even(request, launches); !even) {
        return even.error();
    }
    for (auto& launch : launches) {
        // With DeepSpeed, which a configuration of the user's own may ask for on every node, accelerate
        // appends its whole environment to this file, or to .deepspeed_env in the working folder in versions
        // that do not know the variable. Here it goes with the job; and the secrets are the ranks' alone.
        launch.start.env["DS_ENV_FILE"] = in_scratch(request, "deepspeed_env");
        launch.start.rank_secrets = true;
        if (on_cpu(request)) { // read by the ranks; as an option it would choose a launcher for one machine
            launch.start.env["ACCELERATE_USE_CPU"] = "true";
        }
    }
    const auto config = in_scratch(request, "accelerate.yaml");
    if (request.via == "pdsh") {
        auto& start = launches.front().start;
        const auto hostfile = in_scratch(request, "hostfile");
        start.files[hostfile] = slots_hostfile(launches);
        start.files[config] = configuration(request, launches, 0, hostfile);
        auto argv = command(request, launches, 0, config);
        append_rank(argv, request, {"--no_python"});
        start_from_first_node(launches, std::move(argv));
        return launches;
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& start = launches[i].start;
        start.files[config] = configuration(request, launches, i, "");
        start.argv = command(request, launches, i, config);
        append_rank(start.argv, request, {"--no_python"});
    }
    return launches;
}

} // namespace dockdist

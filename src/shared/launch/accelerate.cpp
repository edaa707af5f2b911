// accelerate. Standalone: on every node, with a configuration that differs in machine_rank alone. By pdsh:
// once, on the first node, and DeepSpeed's runner carries it to the others. Facts from
// accelerate/commands/launch.py and utils/launch.py.
#include "shared/launch/accelerate_settings.hpp"
#include "shared/launch/common.hpp"

#include <algorithm>

namespace dockdist {
namespace {

bool on_cpu(const LaunchRequest& request) {
    return std::ranges::all_of(request.nodes, [](const LaunchNode& node) { return node.gpus == 0; });
}

// The main process's port is the rendezvous, never ssh's. num_processes is the total. Without a word
// DeepSpeed's ranks are started by pdsh, from every node.
std::string configuration(const LaunchRequest& request, const std::vector<NodeLaunch>& launches,
                          std::size_t node_rank, const std::string& hostfile) {
    std::string text = "compute_environment: LOCAL_MACHINE\n";
    text += std::string("distributed_type: ") + (hostfile.empty() ? "MULTI_GPU" : "DEEPSPEED") + "\n";
    text += "deepspeed_config:\n  deepspeed_multinode_launcher: ";
    text +=
        hostfile.empty() ? "standard\n" : "pdsh\n  deepspeed_hostfile: " + hostfile + "\n  zero_stage: 2\n";
    text += "num_machines: " + std::to_string(launches.size()) + "\n";
    text += "num_processes: " + std::to_string(world_size(launches)) + "\n";
    text += "machine_rank: " + std::to_string(node_rank) + "\n";
    text += "main_process_ip: " + request.nodes.front().address + "\n";
    text += "main_process_port: " + std::to_string(request.ports.front().number) + "\n";
    text += "gpu_ids: all\nmixed_precision: 'no'\nmain_training_function: main\n";
    text += "rdzv_backend: static\nsame_network: true\nuse_cpu: false\n";
    return text;
}

// What names this cluster stands as options too: two of them count nowhere else.
std::vector<std::string> command(const LaunchRequest& request, const AccelerateWords& words,
                                 std::vector<NodeLaunch>& launches, std::size_t node_rank,
                                 const std::string& hostfile) {
    auto& start = launches[node_rank].start;
    const auto config = in_scratch(request, "accelerate.yaml");
    start.files[config] = configuration(request, launches, node_rank, hostfile);
    std::vector<std::string> argv{"python", "-m", "accelerate.commands.launch", "--config_file=" + config};
    if (!words.config_file.empty()) {
        const auto program = in_scratch(request, "start-accelerate.py");
        const auto merged = in_scratch(request, "accelerate.json");
        start.files[program] = accelerate_settings_py;
        argv = {"python", program, "start", words.config_file, config, merged, "--config_file=" + merged};
    }
    argv.insert(argv.end(), {"--num_machines=" + std::to_string(launches.size()),
                             "--num_processes=" + std::to_string(world_size(launches)),
                             "--machine_rank=" + std::to_string(node_rank),
                             "--main_process_ip=" + request.nodes.front().address,
                             "--main_process_port=" + std::to_string(request.ports.front().number),
                             "--rdzv_backend=static", "--same_network"});
    append_rank(argv, words.others, {"--no_python"});
    return argv;
}

Status check_even(const AccelerateWords& words, const std::vector<NodeLaunch>& launches) {
    for (std::size_t i = 1; i < launches.size(); ++i) {
        if (launches[i].ranks != launches[0].ranks) {
            return Error{ErrorKind::usage, launches[i].node.str(),
                         "accelerate starts the same number of ranks on each node; " +
                             launches[0].node.str() + " has " + std::to_string(launches[0].ranks) +
                             " slots and this one " + std::to_string(launches[i].ranks),
                         "use --gpus " + std::to_string(std::min(launches[0].ranks, launches[i].ranks)) +
                             (words.by_pdsh ? "" : ", or --launcher torchrun")};
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
    const auto words = read_words(request);
    if (words && (words->by_pdsh || words->paradigm == "use_deepspeed")) {
        tools.push_back({Tool::Kind::python_module, "deepspeed",
                         "add DeepSpeed: `pip install deepspeed`; or start the job without it"});
    }
    return tools;
}

Status check_accelerate(const LaunchRequest& request) {
    const auto words = read_words(request);
    return words ? Status(ok) : words.error();
}

Result<std::vector<NodeLaunch>> launch_accelerate(const LaunchRequest& request) {
    const auto words = read_words(request);
    TRY(words);
    auto launches = ranks_on_every_node(request);
    TRY(check_even(*words, launches));
    TRY(check_settings(request, *words));
    for (auto& launch : launches) {
        // With DeepSpeed and pdsh accelerate appends its whole environment to this file, or to .deepspeed_env
        // in the working folder in versions that do not know the variable. Here it goes with the job; and the
        // secrets are the ranks' alone.
        launch.start.env["DS_ENV_FILE"] = in_scratch(request, "deepspeed_env");
        launch.start.rank_secrets = true;
        if (words->on_cpu ||
            on_cpu(request)) { // read by the ranks; --cpu would choose a launcher for one machine
            launch.start.env["ACCELERATE_USE_CPU"] = "true";
        }
    }
    if (words->by_pdsh) {
        const auto hostfile = in_scratch(request, "hostfile");
        launches.front().start.files[hostfile] = slots_hostfile(launches);
        auto argv = command(request, *words, launches, 0, hostfile);
        start_from_first_node(launches, std::move(argv));
        return launches;
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
        launches[i].start.argv = command(request, *words, launches, i, "");
    }
    return launches;
}

} // namespace dockdist

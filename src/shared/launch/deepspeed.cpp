// DeepSpeed. Without --via its per-node launcher, which pdsh would run on every node, runs there directly. By
// pdsh and Open MPI its own runner does what its users know. Facts from deepspeed/launcher/*.py.
#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/common.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

// Some versions check, before they start mpirun, that they run under MPI already. Without a word about the
// interface they take eth0.
constexpr const char* run_as_if_under_mpi =
    "import os, runpy\n"
    "os.environ.update(OMPI_COMM_WORLD_RANK='0', OMPI_COMM_WORLD_LOCAL_RANK='0', OMPI_COMM_WORLD_SIZE='1')\n"
    "runpy.run_module('deepspeed.launcher.runner', run_name='__main__', alter_sys=True)\n";

// {"node-0":[0,1],"node-1":[0,1]}: the GPUs of each node, in the order of the node ranks.
std::string world_info(const std::vector<NodeLaunch>& launches) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::object();
    for (const auto& launch : launches) {
        auto& slots = nodes[launch.node.str()] = nlohmann::ordered_json::array();
        for (int i = 0; i < launch.ranks; ++i) {
            slots.push_back(i);
        }
    }
    return to_base64url(nodes.dump()); // base64.urlsafe_b64decode reads it
}

std::vector<std::string> runner(const LaunchRequest& request, std::vector<NodeLaunch>& launches) {
    const auto hostfile = in_scratch(request, "hostfile");
    launches.front().start.files[hostfile] = slots_hostfile(launches);
    // The file of variables that the runner reads from the home and from the folder breaks it when it holds a
    // blank line; --env reaches every rank without it.
    launches.front().start.env["DS_ENV_FILE"] = in_scratch(request, "deepspeed_env");
    return {"python",
            "-m",
            "deepspeed.launcher.runner",
            "--hostfile=" + hostfile,
            "--launcher=" + request.via,
            "--master_addr=" + request.nodes.front().address,
            "--master_port=" + std::to_string(request.ports.front().number),
            "--force_multi"};
}

} // namespace

std::vector<Tool> deepspeed_tools(const LaunchRequest& request) {
    std::vector<Tool> tools{
        {Tool::Kind::python_module, "deepspeed",
         "take an image with DeepSpeed, or add it: `pip install deepspeed`"},
        {Tool::Kind::python_module, "torch", "take an image with PyTorch, or add it: `pip install torch`"}};
    if (request.via == "openmpi") {
        tools.push_back(
            {Tool::Kind::program, "mpirun", "add Open MPI: `apt install openmpi-bin`; or leave --via out"});
    }
    return tools;
}

Result<std::vector<NodeLaunch>> launch_deepspeed(const LaunchRequest& request) {
    auto launches = ranks_on_every_node(request);
    for (auto& launch : launches) {
        launch.start.local_rank_at = behind_script(launch.start.rank_command);
    }
    if (request.via == "pdsh") {
        auto argv = runner(request, launches);
        append_rank(argv, request.options, {"--no_local_rank", "--no_python"});
        start_from_first_node(launches, std::move(argv));
        return launches;
    }
    if (request.via == "openmpi") {
        const auto selector = interface_selector(request);
        if (selector.empty()) { // DeepSpeed's own is eth0
            return Error{
                ErrorKind::config, "",
                "over IPv6 Open MPI finds a node's network by its interface's name alone, and the nodes "
                "have it by different ones",
                "use --launcher deepspeed without --via openmpi, or give the interfaces one name"};
        }
        auto argv = runner(request, launches);
        argv[1] = "-c";
        argv[2] = run_as_if_under_mpi;
        argv.push_back("--launcher_args=--mca btl_tcp_if_include " + selector + " --bind-to none");
        append_rank(argv, request.options, {"--no_python"});
        start_from_first_node(launches, std::move(argv));
        return launches;
    }
    const auto world = world_info(launches);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& argv = launches[i].start.argv;
        argv = {"python",
                "-m",
                "deepspeed.launcher.launch",
                "--world_info=" + world,
                "--node_rank=" + std::to_string(i),
                "--master_addr=" + request.nodes.front().address,
                "--master_port=" + std::to_string(request.ports.front().number)};
        append_rank(argv, request.options, {"--no_local_rank", "--no_python"});
    }
    return launches;
}

} // namespace dockdist

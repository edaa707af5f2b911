// torch.distributed.run, once on each node, with static rendezvous at a numeric address: c10d looks names up
// and fails where a machine's own name stands at 127.0.1.1 in /etc/hosts.
#include "shared/launch/common.hpp"

#include <array>
#include <charconv>

namespace dockdist {
namespace {

// The numbers before the first thing that is none: {1, 13} of "1.13.1+cu117".
std::array<int, 2> major_minor(const std::string& version) {
    std::array<int, 2> numbers{};
    const char* at = version.data();
    const char* end = at + version.size();
    for (auto& number : numbers) {
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc{}) {
            break;
        }
        at = next + (next != end && *next == '.' ? 1 : 0);
    }
    return numbers;
}

// torch 1.13 and older compare the text of an IntFlag, which Python 3.11 changed: its agent fails before the
// first rank starts.
Status check_versions(const LaunchNode& node) {
    const auto& torch = node.versions.at("torch");
    const auto& python = node.versions.at("python");
    if (major_minor(torch)[0] >= 1 && major_minor(torch) < std::array{2, 0} &&
        major_minor(python) >= std::array{3, 11}) {
        return Error{ErrorKind::config, node.name.str(),
                     "torchrun of torch " + torch + " does not work with Python " + python,
                     "take an image with torch 2.0 or newer, or Python 3.10; or --launcher mpirun, slurm or "
                     "`plain --per-rank`, which need no torchrun"};
    }
    return ok;
}

} // namespace

std::vector<Tool> torchrun_tools(const LaunchRequest&) {
    return {
        {Tool::Kind::python_module, "torch", "take an image with PyTorch, or add it: `pip install torch`"}};
}

Result<std::vector<NodeLaunch>> launch_torchrun(const LaunchRequest& request) {
    for (const auto& node : request.nodes) {
        TRY(check_versions(node));
    }
    auto launches = ranks_on_every_node(request);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& argv = launches[i].start.argv;
        argv = {"python",
                "-m",
                "torch.distributed.run",
                "--nnodes=" + std::to_string(launches.size()),
                "--nproc_per_node=" + std::to_string(launches[i].ranks),
                "--node_rank=" + std::to_string(i),
                "--master_addr=" + request.nodes.front().address,
                "--master_port=" + std::to_string(request.ports.front().number)};
        append_rank(argv, request.options, {"--no_python"});
    }
    return launches;
}

// As torch's own gives it: --local-rank since 2.0, --local_rank before.
Result<std::vector<NodeLaunch>> launch_torch_distributed(const LaunchRequest& request) {
    auto launches = launch_torchrun(request);
    if (launches) {
        for (std::size_t i = 0; i < launches->size(); ++i) {
            auto& launch = (*launches)[i];
            const auto& torch = request.nodes[i].versions.at("torch");
            if (major_minor(torch) >= std::array{2, 0}) {
                launch.start.local_rank_option = "--local-rank";
            }
            launch.start.local_rank_at = behind_script(launch.start.rank_command);
        }
    }
    return launches;
}

} // namespace dockdist

// One mpirun on the first node; it reaches the others by ssh. Open MPI sets OMPI_COMM_WORLD_*, MPICH PMI_*:
// the rank shim makes RANK and its kin of them.
#include "shared/launch/common.hpp"

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::string_view how_to_add =
    "take an image with Open MPI or MPICH, or add one: `apt install openmpi-bin`";

// The programs under which an MPI may be found: Debian's names where several are installed.
std::vector<std::string_view> programs_of(const std::string& via) {
    if (via == "openmpi") {
        return {"mpirun.openmpi", "mpirun"};
    }
    if (via == "mpich") {
        return {"mpirun.mpich", "mpirun"};
    }
    return {"mpirun"};
}

bool is_of(const std::string& version, const std::string& via) {
    return via.empty() || version.starts_with(via == "openmpi" ? "Open MPI" : "MPICH");
}

// Empty: the node has none that `via` means.
std::string program_of(const LaunchNode& node, const std::string& via) {
    for (const auto program : programs_of(via)) {
        const auto found = node.versions.find(std::string(program));
        if (found != node.versions.end() && !found->second.empty() && is_of(found->second, via)) {
            return found->first;
        }
    }
    return {};
}

} // namespace

// Whether one of them is there is decided below: `--via` has more than one name for it.
std::vector<Tool> mpirun_tools(const LaunchRequest& request) {
    std::vector<Tool> tools;
    for (const auto program : programs_of(request.via)) {
        tools.push_back({Tool::Kind::program, program, how_to_add, request.via.empty()});
    }
    return tools;
}

Result<std::vector<NodeLaunch>> launch_mpirun(const LaunchRequest& request) {
    std::string program;
    for (const auto& node : request.nodes) {
        const auto found = program_of(node, request.via);
        if (found.empty()) {
            return Error{ErrorKind::config, node.name.str(),
                         "the image has no mpirun of " +
                             std::string(request.via == "mpich" ? "MPICH" : "Open MPI"),
                         std::string(how_to_add)};
        }
        program = program.empty() ? found : program;
    }
    const auto& version = request.nodes.front().versions.at(program);
    const auto ipv6 = std::ranges::find_if(request.nodes, is_ipv6);
    if (version.starts_with("MPICH") && ipv6 != request.nodes.end() && request.nodes.size() > 1) {
        return Error{ErrorKind::config, ipv6->name.str(),
                     "MPICH's mpirun does not support IPv6, and the node is at " +
                         ipv6->address, // tried: 4.2.1
                     "use Open MPI (--via openmpi), or a launcher that needs no mpirun"};
    }
    auto launches = ranks_on_every_node(request);
    const auto count = std::to_string(world_size(launches));
    std::vector<std::string> argv{program};
    if (version.starts_with("Open MPI")) {
        const auto hostfile = in_scratch(request, "hostfile");
        launches.front().start.files[hostfile] = slots_hostfile(launches);
        argv.insert(argv.end(), {"--allow-run-as-root", "--hostfile", hostfile, "-np", count, "--map-by",
                                 "slot", "--bind-to", "none"});
    } else { // Hydra's dialect, which Intel MPI shares
        const auto hostfile = in_scratch(request, "hostfile.hydra");
        std::string text;
        for (const auto& launch : launches) {
            text += launch.node.str() + ":" + std::to_string(launch.ranks) + "\n";
        }
        launches.front().start.files[hostfile] = text;
        argv.insert(argv.end(), {"-launcher", "ssh", "-f", hostfile, "-n", count});
    }
    append_rank(argv, request.options);
    start_from_first_node(launches, std::move(argv));
    return launches;
}

} // namespace dockdist

// horovodrun over gloo on the first node; it reaches the others by ssh. Its own hostfile parser breaks on
// comments and blanks, so the hosts stand in -H.
#include "shared/launch/common.hpp"

#include <algorithm>

namespace dockdist {

std::vector<Tool> horovodrun_tools(const LaunchRequest&) {
    return {{Tool::Kind::python_module, "horovod",
             "take an image with Horovod, or add it: `HOROVOD_WITH_PYTORCH=1 pip install horovod`"}};
}

Result<std::vector<NodeLaunch>> launch_horovodrun(const LaunchRequest& request) {
    const auto ipv6 = std::ranges::find_if(request.nodes, is_ipv6);
    if (ipv6 != request.nodes.end() && request.nodes.size() > 1) { // it looks for IPv4 addresses alone
        return Error{ErrorKind::config, ipv6->name.str(),
                     "horovodrun does not support IPv6, and the node is at " + ipv6->address,
                     "give the hosts IPv4 addresses; a Horovod that was built with MPI runs by `--launcher "
                     "mpirun` as well"};
    }
    auto launches = ranks_on_every_node(request);
    std::string hosts;
    for (const auto& launch : launches) {
        hosts += (hosts.empty() ? "" : ",") + launch.node.str() + ":" + std::to_string(launch.ranks);
    }
    // --disable-cache: the cache of checks stands in the home, which nodes may share.
    std::vector<std::string> argv{
        "horovodrun", "-np", std::to_string(world_size(launches)), "-H", hosts, "--gloo", "--disable-cache"};
    // Without a name horovodrun looks for an interface that all nodes have, by ssh, for seconds.
    const auto interface = interface_selector(request);
    if (interface == request.nodes.front().interface) {
        argv.insert(argv.end(), {"--network-interfaces", interface});
    }
    append_rank(argv, request.options);
    start_from_first_node(launches, std::move(argv));
    return launches;
}

} // namespace dockdist

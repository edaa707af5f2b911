// torch.distributed.run, once on each node, with static rendezvous at a numeric address: c10d looks names up
// and fails where a machine's own name stands at 127.0.1.1 in /etc/hosts.
#include "launch/launcher.hpp"

namespace dockdist {

Result<std::vector<NodeLaunch>> launch_torchrun(const LaunchRequest& request) {
    std::vector<NodeLaunch> result;
    int first_rank = 0;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        const auto& node = request.nodes[i];
        const int ranks = request.ranks_per_node.value_or(node.slots);
        if (ranks < 1) {
            return Error{ErrorKind::usage, node.name.str(), "no slot to start a rank in",
                         "set `slots` for the host, or --gpus"};
        }
        if (node.gpus > 0 && ranks > node.gpus) {
            return Error{ErrorKind::usage, node.name.str(),
                         std::to_string(ranks) + " ranks were asked for, and the node has " +
                             std::to_string(node.gpus) + " GPUs",
                         "use --gpus " + std::to_string(node.gpus) + " or less"};
        }
        NodeLaunch launch{.node = node.name, .ranks = ranks, .first_rank = first_rank};
        launch.argv = {"python", "-m", "torch.distributed.run",
                       "--nnodes=" + std::to_string(request.nodes.size()),
                       "--nproc_per_node=" + std::to_string(ranks), "--node_rank=" + std::to_string(i),
                       "--master_addr=" + request.nodes.front().address,
                       "--master_port=" + std::to_string(request.master_port.number), "--no_python",
                       // The shim tells each rank's output apart and reports the true exit code of the first
                       // that fails: the agent itself exits 1 whatever the rank's code was.
                       "/opt/dockdist/bin/dockdist-init", "rank", "--"};
        for (auto& word : as_python_command(request.command)) {
            launch.argv.push_back(std::move(word));
        }
        launch.env = common_env(request, i);
        result.push_back(std::move(launch));
        first_rank += ranks;
    }
    return result;
}

} // namespace dockdist

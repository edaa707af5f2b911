#include "launch/launcher.hpp"

namespace dockdist {

Result<std::vector<NodeLaunch>> launch_plain(const LaunchRequest& request) {
    if (request.ranks_per_node) {
        return Error{ErrorKind::usage, "",
                     "--gpus has no meaning for the launcher plain, which runs one command a node",
                     "use --launcher torchrun, or leave --gpus out"};
    }
    std::vector<NodeLaunch> result;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        const int rank = static_cast<int>(i);
        NodeLaunch launch{.node = request.nodes[i].name, .argv = request.command, .first_rank = rank};
        launch.env = {{"RANK", std::to_string(rank)},
                      {"LOCAL_RANK", "0"},
                      {"WORLD_SIZE", std::to_string(request.nodes.size())},
                      {"LOCAL_WORLD_SIZE", "1"}};
        for (auto& [name, value] : common_env(request, i)) {
            launch.env[name] = value;
        }
        result.push_back(std::move(launch));
    }
    return result;
}

} // namespace dockdist

#include "shared/launch/common.hpp"

namespace dockdist {

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

} // namespace dockdist

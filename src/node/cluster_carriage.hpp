// A detached job as one of its parts sees it: the first one has the keeper, every other one the link to it.
#pragma once

#include "node/follower_list.hpp"
#include "node/keeper.hpp"
#include "node/keeper_link.hpp"
#include "node/supervisor.hpp"

#include <functional>
#include <memory>
#include <string>

namespace dockdist::node {

class ClusterCarriage {
public:
    // Takes the clients' hold on the job away. `job` and `followers` outlive it.
    ClusterCarriage(Loop& loop, PreparedJob& job, FollowerList& followers);

    std::function<void(const wire::JobCommand&)> on_order{}; // the keeper's, to its own part

    void hear_own(const wire::JobEvent& event);
    void stop_members(std::int64_t grace_ms); // where the keeper is
    // Why the lease is over: "nothing was heard of …".
    std::string silence(const std::string& for_how_long) const;

private:
    const PreparedJob& job_;
    std::unique_ptr<Keeper> keeper_{};
    std::unique_ptr<KeeperLink> link_{};
};

} // namespace dockdist::node

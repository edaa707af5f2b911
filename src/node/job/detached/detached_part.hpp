// A detached job as one of its parts sees it: the first one has the coordinator, every other one the link to
// it.
#pragma once

#include "node/job/detached/coordinator.hpp"
#include "node/job/detached/coordinator_link.hpp"
#include "node/job/follower_list.hpp"
#include "node/job/supervisor.hpp"

#include <functional>
#include <memory>
#include <string>

namespace dockdist::node {

class DetachedPart {
public:
    // Takes the clients' hold on the job away. `job` and `followers` outlive it.
    DetachedPart(Loop& loop, PreparedJob& job, FollowerList& followers);

    std::function<void(const wire::JobCommand&)> on_order{}; // the coordinator's, to its own part

    void hear_own(const wire::JobEvent& event);
    void stop_members(std::int64_t grace_ms); // where the coordinator is
    // Why the lease is over: "nothing was heard of …".
    std::string silence(const std::string& for_how_long) const;

private:
    const PreparedJob& job_;
    std::unique_ptr<Coordinator> coordinator_{};
    std::unique_ptr<CoordinatorLink> link_{};
};

} // namespace dockdist::node

// A detached job as one of its parts sees it: this part's share in carrying it, and its way to the part that
// does.
#pragma once

#include "node/job/detached/carrier.hpp"
#include "node/job/detached/coordinator_link.hpp"
#include "node/job/follower_list.hpp"
#include "node/job/supervisor.hpp"

#include <functional>
#include <optional>
#include <string>

namespace dockdist::node {

class DetachedPart {
public:
    struct Listener {
        std::function<void(const wire::JobCommand&)> on_order{}; // the coordinator's, to its own part
        // No coordinator is heard of, `why` in words. What runs is to be ended; or the part is.
        std::function<void(const std::string& why)> on_silence{}, on_over{};
    };
    // Takes the clients' hold on the job away. `job` and `followers` outlive it.
    DetachedPart(Loop& loop, PreparedJob& job, FollowerList& followers, Listener listener);
    void begin();

    void hear_own(const wire::JobEvent& event) { carrier_.hear_own(event); }
    void stop_members(std::int64_t grace_ms, int signal) { carrier_.stop_members(grace_ms, signal); }
    void resign() { carrier_.resign(); }
    void when_heard(std::function<void()> heard) { carrier_.when_heard(std::move(heard)); }

private:
    void follow(std::optional<Carrier::Listener::Target> coordinator);
    void dialled(Pipe ends);
    std::string silence() const;

    PreparedJob& job_;
    FollowerList& followers_;
    Listener listener_;
    CoordinatorLink link_;
    bool searches_ = false;
    Carrier carrier_;
};

} // namespace dockdist::node

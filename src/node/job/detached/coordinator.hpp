// Who decides for a detached job: hears the events of all parts, and gives the orders that JobStateMachine
// decides. It lives in one part's supervisor; how it came there, and whether it may still decide, is
// carrier.hpp's.
#pragma once

#include "node/job/detached/member_links.hpp"
#include "node/system/loop.hpp"
#include "shared/job_state/job_state_machine.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

class Coordinator {
public:
    // `own`: the part that it lives with. A member that is not heard of for `lease_ms` is lost.
    Coordinator(Loop& loop, MemberLinks& links, wire::JobPolicy settings, std::size_t own,
                std::int64_t lease_ms);
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // Orders for the own part. Its last one, after which it exits, comes when every member is gone.
    std::function<void(const wire::JobCommand&)> on_order{};
    std::function<void(const std::string& line)> on_note{}; // for the job's log
    std::function<bool()> may_act{};
    std::function<void(std::size_t part)> on_gone{}; // it has ended, as it says itself

    // It comes in place of another one: JobStateMachine::take_over.
    void take_over(std::size_t former, int attempt, const std::string& why);
    void hear_own(const wire::JobEvent& event);
    void hear(std::size_t part, const wire::JobEvent& event);
    void heard_of(std::size_t part);
    void linked(std::size_t part); // it gets its last order again
    // Whether to ping it now, which is done then. One that does not answer gets no more pings: it would be
    // known later when its ranks end.
    bool pings(std::size_t part);
    // Gone or lost: it takes no part in the job any more.
    bool is_gone(std::size_t part) const { return members_[part].gone; }
    // Somebody stops the job here: the members are told at once.
    void stop_members(std::int64_t grace_ms, int signal);
    // Call it after hear(), and now and then.
    void decide();
    void find_lost();

    const JobStateMachine& state() const { return state_; }

private:
    struct Member {
        std::int64_t last_heard_ms = 0;
        std::int64_t told_ms = 0;                    // something; it need not have come there
        std::optional<std::int64_t> unanswered_ms{}; // since when it has said nothing to pings
        bool gone = false;
        std::optional<wire::JobCommand> order{}; // the last one; given again on a new link
    };
    void order_own(const wire::JobCommand& command);
    void order_member(std::size_t part, const wire::JobCommand& command);
    void tell_notices();
    void settle_outcome();

    Loop& loop_;
    MemberLinks& links_;
    JobStateMachine state_;
    std::size_t own_; // part
    std::int64_t lease_ms_;
    std::vector<Member> members_; // as the policy's parts; [own_] is unused
    std::optional<wire::JobCommand> last_own_order_{};
    bool deciding_ = false;
    bool own_is_told_ = false;
};

} // namespace dockdist::node

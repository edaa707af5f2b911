// Who carries a detached job: it lives in the supervisor of the job's first part that was not lost before,
// hears the events of all of them, and gives the orders that JobStateMachine decides. The members dial in,
// see coordinator_link.hpp.
#pragma once

#include "job_state/job_state_machine.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "wire/job.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

class Coordinator {
public:
    // `listener`: where the members' links arrive. A member that is not heard of for `lease_ms` is lost.
    Coordinator(Loop& loop, wire::JobPolicy settings, Fd listener, std::int64_t lease_ms);
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // Orders for the part that the coordinator lives with. Its last one, after which it exits, comes when
    // every member is gone.
    std::function<void(const wire::JobCommand&)> on_order{};
    std::function<void(const std::string& line)> on_note{}; // for the job's log

    void hear_own(const wire::JobEvent& event);
    // Somebody stops the job here: the members are told at once.
    void stop_members(std::int64_t grace_ms);

private:
    struct Link {
        Fd socket{};
        std::optional<std::size_t> part{}; // known from its first line
        std::string heard{};               // an unfinished line
        std::string unsent{};
    };
    struct Member {
        Link* link = nullptr;
        std::int64_t last_heard_ms = 0;
        bool gone = false;
        std::optional<wire::JobCommand> order{}; // the last one; given again on a new link
    };
    void accept();
    void hear(Link& link);
    bool greet(Link& link, const std::string& line);
    void take(std::size_t part, const wire::JobEvent& event);
    void drop(Link& link);
    void send(Member& member, const std::string& line);
    void write(Link& link);
    void decide();
    void order_own(const wire::JobCommand& command);
    void tick();
    void find_lost();
    void tell_notices();
    void settle_outcome();

    Loop& loop_;
    JobStateMachine state_;
    std::size_t own_; // part
    Fd listener_;
    std::int64_t lease_ms_;
    std::vector<Member> members_; // as the policy's parts; [own_] is unused
    std::vector<std::unique_ptr<Link>> links_{};
    std::optional<wire::JobCommand> last_own_order_{};
    Loop::Timer timer_ = 0;
    bool deciding_ = false;
    bool own_is_told_ = false;
};

} // namespace dockdist::node

// How a part of a detached job takes its share in carrying it: as its coordinator, as a member of it, or on
// the way from the one to the other, by the rules of shared/job_state/succession.hpp.
#pragma once

#include "node/job/detached/coordinator.hpp"
#include "node/job/detached/member_links.hpp"
#include "node/system/loop.hpp"
#include "shared/job_state/succession.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dockdist::node {

class Carrier {
public:
    struct Settings {
        std::size_t own = 0; // part
        wire::JobPolicy policy{};
        int attempt = 0;
        std::int64_t lease_ms = 0;
        std::string scratch{}; // the job's
    };
    struct Listener {
        std::function<void(const wire::JobCommand&)> on_order{}; // of the coordinator that lives here
        std::function<void(const std::string& line)> on_note{};  // for the job's log
        // The coordinator to obey from now on, at the other end of a link to be dialled; the one before is to
        // be hung up. Empty: none.
        struct Target {
            std::size_t part = 0;
            std::int64_t term = 0;
        };
        std::function<void(std::optional<Target>)> on_coordinator{};
        std::function<void()> on_silence{}; // nothing of the job may run here until the next order
        std::function<void()> on_over{};    // the lease is over, and nobody has taken over: the part ends
    };
    // `links`: the door at which other parts dial this one.
    Carrier(Loop& loop, Settings settings, Fd links, Listener listener);
    ~Carrier();
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

    void begin();
    void hear_own(const wire::JobEvent& event);
    // From the link to the coordinator. The answer; nothing: hang up.
    std::optional<std::string> hear_ping(const std::string& line);
    void stop_members(std::int64_t grace_ms, int signal);
    // This part ends, whatever the others do: it decides nothing more, and they need not wait for the lease.
    void resign();
    // Calls it when they have answered that; soon all the same.
    void when_heard(std::function<void()> heard);

    bool may_be_succeeded() const { return succession_.may_be_succeeded(); }
    bool leads() const { return coordinator_.has_value(); }
    std::size_t coordinator() const { return succession_.coordinator(); }
    std::size_t former() const { return succession_.former(); }
    bool former_resigned() const { return succession_.former_resigned(); }

private:
    MemberLinks::Verdict judge(const wire::LinkGreeting& greeting);
    void hear(std::size_t part, const std::string& line);
    void ping(std::size_t part);
    void tick();
    void follow();
    void lead();
    void take_over();
    void settle();
    void look_who_has_heard();

    Loop& loop_;
    Settings settings_;
    Listener listener_;
    MemberLinks links_;
    Succession succession_;
    std::optional<Coordinator> coordinator_{};
    std::int64_t term_ = -1; // that is followed
    bool silence_is_told_ = false;
    bool over_ = false;
    std::int64_t resigned_ms_ = 0;
    std::function<void()> heard_{};
    Loop::Timer timer_ = 0;
};

} // namespace dockdist::node

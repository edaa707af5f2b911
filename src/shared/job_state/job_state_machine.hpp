// What becomes of a running job. Its parts report, one coordinator listens and tells them what to do: the
// client, or the coordinator on one of the job's nodes (shared/wire/job.hpp). Both decide by this class, so a
// job goes the same way whoever carries it. Pure: time comes in, orders come out.
//
//   running ──all leaders ended──▶ over          every part ends what is left, and goes
//      │ a failure
//      ├──restarts left──▶ halting ──all ended──▶ pausing ──backoff──▶ running, the next attempt
//      └──none left, lost part, interrupt──▶ stopping   every part ends its processes, and goes
//
// Where the settings have `relaunch`, a lost part is a failure like others, as long as enough nodes are left:
// the first spare takes its place, or the next attempt begins without it.
//
// No two attempts at once. A part that is lost may not know it: its ranks run until its lease is over, and
// for their grace. So nothing of the job begins again before `ranks_end_ms` of each lost part, unless its
// node, or its engine, has said that its ranks are gone. A part's lease counts from the last word that it has
// heard; `heard_ms` below is the latest moment at which that can have been sent.
//
// A job in which nothing moves is suspected of a hang, and looked at: why it hangs is told where that is
// sure, and where settings.stop_hung says so acted on.
//
// A job of which all parts are silent has stalled: they report what their ranks are doing, and where
// settings.stop_stalled says so that is a failure once they have. One whose GPUs do nothing, in all parts, is
// idle: that is told, and where settings.stop_idle says so it is a failure.
#pragma once

#include "shared/wire/job.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// A launcher ends because a rank has failed, and may be heard of first when the rank is on another node; so
// may a rank whose connection to the one that failed is closed.
bool explains(const wire::JobFailure& rank, const wire::JobFailure& other);
// Of a node's, in the order in which they were heard, the one that is behind the others.
const wire::JobFailure& first_of(const std::vector<wire::JobFailure>& failures);

// When the ranks of a part that is lost have surely ended: its lease, their grace, and what words take on
// their way and a part to look at its clock.
std::int64_t word_ms(std::int64_t lease_ms);
std::int64_t ranks_end_ms(std::int64_t heard_ms, std::int64_t lease_ms, std::int64_t grace_ms);

class JobStateMachine {
public:
    struct Order {
        std::size_t part = 0;
        wire::JobCommand command{};
    };
    // What people are told while the job runs: by the client on its terminal, by the coordinator of a
    // detached job in the job's log.
    struct Notice {
        enum class Kind {
            stalled,
            idle,
            failed,
            ending,
            lost,
            ready
        }; // ending: of a failure, told again at the end
        Kind kind = Kind::failed;
        std::string node{}; // that it is about; empty: no single one
        std::string text{};
    };
    // shared/launch/relaunch.hpp: pure, and not to be included here. A start for each part.
    using Relaunch = std::function<Result<std::vector<wire::JobStart>>(const wire::JobPolicy&)>;

    explicit JobStateMachine(wire::JobPolicy settings, Relaunch relaunch = {},
                             std::int64_t lease_ms = wire::default_lease.count());

    // In place of a coordinator that is lost: the attempt that it carried is broken. `own`: the part with the
    // new one; `attempt`: the latest that any part is in. It may order nothing any more, and has lost others
    // before, nobody knows when: but they have heard nothing for a lease.
    void take_over(std::size_t own, std::size_t former, int attempt, const std::string& why,
                   std::int64_t now_ms);

    // What happened. `part` counts as settings.parts. What a former attempt's events say is passed over; a
    // later attempt is one that another coordinator has begun.
    void hear(std::size_t part,
              const wire::JobEvent& event); // which of the next ones it is; `exited` is its
                                            // coordinator's to tell, who knows of more than that
    void started(std::size_t part, int attempt);
    void rank_failed(std::size_t part, int attempt, const wire::JobFailure& failure);
    // With 0: what fails over a lost connection after that fails because of it.
    void rank_done(std::size_t part, int attempt, int rank);
    void ended(std::size_t part, int attempt, const wire::JobResult& result); // and waits for an order
    void exited(std::size_t part, const wire::JobResult& result);             // and is gone
    void silent(std::size_t part, int attempt);
    void speaks(std::size_t part, int attempt);
    // `gpus`: how many of the job are there; of the parts that have some all must be idle.
    void idle(std::size_t part, int attempt, int gpus);
    void busy(std::size_t part, int attempt);
    void reported(std::size_t part, int attempt, std::vector<wire::RankStack> ranks = {});
    void still(std::size_t part, int attempt);
    void goes_on(std::size_t part, int attempt);
    void examined(std::size_t part, int attempt, std::vector<wire::RankStack> ranks, wire::RasReport ras = {},
                  wire::NodeLook node = {});
    void ranks_gone(std::size_t part, int attempt);
    void is_ready(std::size_t part, int attempt, const std::string& address);
    // Gone without a word; `why` in words. `heard_ms`: as above; nothing: its engine says that its container
    // does not run. False where the job goes on, or it had only its farewell left to say. `failure`: what the
    // parts are told of it, where nobody else tells.
    bool lost(std::size_t part, const std::string& why, std::optional<std::int64_t> heard_ms,
              std::optional<wire::JobFailure> failure = std::nullopt);
    void interrupted(); // a second time: at once

    // What the parts have to be told now. Call it after each event, and at wake_at_ms().
    std::vector<Order> decide(std::int64_t now_ms);
    std::optional<std::int64_t> wake_at_ms() const;

    int attempt() const { return attempt_; }
    // Whether no rank of an attempt before can be there any more, on any node.
    bool may_run(std::int64_t now_ms) const;
    bool all_started() const;
    bool all_gone() const;
    // Where this attempt's service has answered. Empty: it has not, or nobody asked for it.
    const std::string& ready_at() const { return ready_at_; }
    // No part but this one is there any more.
    bool alone(std::size_t part) const;
    bool was_interrupted() const { return interrupts_ > 0; }
    // The failure that ended the last attempt.
    const std::optional<wire::JobFailure>& first_failure() const { return failure_; }
    // Since they were last taken. Of a decision with the decide() that ordered it.
    std::vector<Notice> take_notices();
    // With the parts as they are now: lost ones, the members.
    const wire::JobPolicy& settings() const { return settings_; }
    bool is_spare(std::size_t part) const; // and not lost
    // What a launcher that ended with 0 has not begun. Counted when every part but the coordinator's is gone
    // and that one has ended; 0 before, and when the job failed otherwise.
    int missing_ranks() const;
    int wanted_ranks() const;
    // Likewise: the first rank that has run in more than one part. A launcher that was told of one node only
    // ends well on each.
    std::optional<wire::JobFailure> doubled_rank() const;

private:
    enum class Phase { running, halting, pausing, over, stopping };
    struct Part {
        bool started = false;
        bool ended = false; // its command in this attempt
        bool gone = false;
        bool silent = false;
        bool reported = false;
        std::vector<wire::RankStack> stacks{}; // that it has reported
        bool still = false;                    // nothing moves in it
        bool examined = false;
        std::vector<wire::RankStack> looks{}; // of that
        wire::RasReport ras{};                // likewise
        wire::NodeLook node{};                // likewise
        bool ranks_gone = false;              // and it waits with what has started them
        bool idle = false;
        int gpus = 0; // known once it is idle
        int ranks = 0;
        std::vector<int> rank_numbers{};
        std::int64_t runs_until_ms = 0; // lost: its ranks may
        bool wait_is_told = false;      // for that
    };
    struct Standing {
        std::vector<wire::StackFrame> frames{};
        std::int64_t since_ms = 0;
    };
    // Of this attempt, as long as nothing moves.
    struct Suspicion {
        bool is_over = false;                                     // since the last decision
        std::optional<std::int64_t> until_ms{};                   // looks are awaited, and no longer
        std::int64_t next_ms = 0;                                 // not before
        std::int64_t rest_ms = 0;                                 // after the next one that finds nothing
        int looks = 0;                                            // in a row
        std::map<std::pair<std::size_t, int>, Standing> places{}; // by part and rank
        std::size_t asks_ras = 0;                                 // which of those that run
        std::vector<wire::RasRank> ras{};                         // what it has said
        std::int64_t ras_since_ms = 0;
        std::optional<wire::Hang> told{};
    };
    struct Looked {
        std::size_t part = 0;
        wire::RankStack stack{};
    };
    bool speaks_of_now(int attempt);
    void enter_attempt(int attempt);
    void fail(std::size_t part, wire::JobFailure failure);
    void take_result(std::size_t part, const wire::JobResult& result);
    bool leaders_ended() const;
    bool runs(std::size_t part) const;         // something that may be silent
    bool all_running(bool Part::* said) const; // have said that
    std::optional<std::int64_t> stalled_from_ms() const;
    std::vector<Order> watch_silence(std::int64_t now_ms);
    void has_reported(bool all);
    bool is_suspected() const;
    std::optional<std::int64_t> look_at_ms() const; // when the suspicion has to be thought of again
    std::vector<Order> watch_hang(std::int64_t now_ms);
    std::vector<Looked> looked_at() const;
    std::vector<wire::RasReport> heard_of_ras(std::int64_t now_ms);
    std::map<std::string, std::string> nodes_by_address() const;
    std::vector<Order> conclude(bool all, std::int64_t now_ms);
    void act_on(const wire::Hang& hang, std::optional<std::size_t> part, std::int64_t now_ms,
                std::vector<Order>& orders);
    std::optional<std::int64_t> idle_since_ms() const; // when that is so long that it is said
    void watch_idleness(std::int64_t now_ms);
    int gpus() const; // of the parts that run
    std::vector<Order> tell_all(const wire::JobCommand& command);
    std::vector<Order> stop_all();
    std::vector<Order> halt_all();
    std::vector<Order> begin_all();
    std::vector<Order> end_rest();
    bool has_ended_well() const; // every part but the coordinator's is gone, and that one has ended
    std::size_t coordinator() const { return own_.value_or(wire::coordinator_part(settings_)); }
    bool may_restart() const;
    bool goes_on_without(std::size_t part, const std::string& why);
    std::int64_t ranks_gone_ms() const; // of all lost parts
    void tell_wait(std::int64_t now_ms);
    void note(Notice::Kind kind, std::string node, std::string text);
    void note_failure(Notice::Kind kind, const std::string& text); // of failure_
    std::optional<std::size_t> first_spare() const;
    std::int64_t backoff_ms() const;

    wire::JobPolicy settings_;
    Relaunch relaunch_;
    std::int64_t lease_ms_;
    std::vector<Part> parts_;
    Phase phase_ = Phase::running;
    int attempt_ = 0;
    int interrupts_ = 0;
    int stops_told_ = 0; // 0, 1: with grace, 2: at once
    bool part_missing_ = false;
    std::int64_t begin_at_ms_ = 0;
    std::optional<wire::JobFailure> failure_{};
    struct Done {
        std::size_t part = 0;
        int rank = 0;
    };
    std::optional<Done> first_done_{}; // of this attempt
    std::string ready_at_{};
    std::vector<Notice> notices_{};
    bool stop_is_told_ = false;                      // why the job is stopped
    bool something_spoke_ = false;                   // since the last decision
    std::int64_t spoke_at_ms_ = 0;                   // 0: never
    std::optional<std::size_t> first_silent_{};      // the part
    std::optional<std::int64_t> reports_until_ms_{}; // it has stalled, and reports are awaited no longer
    bool verdict_is_told_ = false;                   // of these reports, or there was none to tell
    Suspicion suspicion_{};
    bool hopeless_ = false;         // no restart helps
    bool rest_told_ = false;        // in this attempt
    bool something_ended_ = false;  // since the last decision: its GPUs may have worked until then
    bool something_idled_ = false;  // since the last decision
    std::int64_t idle_from_ms_ = 0; // not before
    bool idle_is_told_ = false;
    bool members_changed_ = false;     // since the running attempt was begun
    std::optional<std::size_t> own_{}; // the part that has taken over
    bool parts_may_differ_ = false;    // in their attempts: no order of this one has come yet
};

} // namespace dockdist

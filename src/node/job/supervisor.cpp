#include "node/job/supervisor.hpp"

#include "core/exit_codes.hpp"
#include "node/gpus/unit_guard.hpp"
#include "node/job/command_start.hpp"
#include "node/job/detached/detached_part.hpp"
#include "node/job/follower_list.hpp"
#include "node/job/job_store.hpp"
#include "node/job/log/output_pipes.hpp"
#include "node/job/rank/rank_list.hpp"
#include "node/job/silence_watch.hpp"
#include "node/session/job_part.hpp"
#include "node/system/loop.hpp"
#include "node/system/oom.hpp"
#include "node/system/process_killer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t leftover_grace_ms = 2000; // for what the command leaves behind when it ends by itself
constexpr std::int64_t engine_stop_grace_ms = 3000;

class Supervisor final : public SupervisedPart {
public:
    Supervisor(Loop& loop, PreparedJob job)
        : loop_(loop), job_(std::move(job)),
          followers_(loop_, std::move(job_.control), job_.summary.lease_ms) {}

    void begin() override;
    bool is_gone() const override { return finished_; }

private:
    void obey(const wire::JobCommand& order, bool again);
    void tell(wire::JobEvent event);
    void note(const std::string& line) { job_.log.append(2, -1, "dockdist: " + line + "\n"); }
    void start_command();
    void cannot_start(const ProgramError& error);
    void on_signal();
    void reap();
    void command_ended(ExitStatus status);
    void failed(wire::JobFailure failure);
    void is_stopped_for(const std::string& reason);
    void stop(const std::string& reason, std::int64_t grace_ms);
    void halt(std::int64_t grace_ms);
    void over();
    void begin(const wire::JobCommand& order);
    void detach();
    void lease_is_over();
    void time_is_over();
    // What is to follow when the processes are gone.
    enum class Then { wait, exit };
    void sweep(Sweep::What what, std::int64_t grace_ms, Then then);
    void swept(const std::vector<pid_t>& left);
    void drain_command() {
        outputs_.drain(out_, 1, -1);
        outputs_.drain(err_, 2, -1);
    }
    void collect(const std::vector<pid_t>& left);
    void wait_for_orders();
    void exit();

    Loop& loop_;
    PreparedJob job_;
    FollowerList followers_;
    Sweep sweep_{loop_, job_.summary.job, [this](const std::vector<pid_t>& left) { swept(left); }};
    Then then_ = Then::wait;
    std::unique_ptr<DetachedPart> cluster_{}; // of a detached job
    std::vector<wire::JobEvent> told_{};      // of this attempt, for a coordinator that begins later
    Fd signals_{};
    OutputPipes outputs_{loop_, job_.log};
    SilenceWatch silence_{loop_, job_.log, job_.start.policy.stall_ms};
    Fd out_{}, err_{}; // of the command
    RankList ranks_{loop_, outputs_, job_.ranks.get(), job_.account.uid};
    std::int64_t oom_kills_before_ = oom_kills();
    pid_t command_ = 0;
    bool command_done_ = false;
    bool stopping_ = false; // what ends now is ended by us
    bool stop_told_ = false;
    bool waiting_ = false;                     // for orders: nothing of the attempt is left
    std::optional<wire::JobCommand> wanted_{}; // begin, ordered while the attempt before was still ending
    bool finished_ = false;
    bool cannot_end_ = false; // processes of it sleep in the kernel
};

void Supervisor::begin() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGPIPE, SIG_IGN);
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    if (auto taken = take_signals(signals)) {
        signals_ = std::move(*taken);
    }
    loop_.watch(signals_.get(), POLLIN, [this](short) { on_signal(); });
    ranks_.on_failed = [this](const RankMessage& end) {
        failed({.rank = end.rank, .local_rank = end.local_rank, .code = end.code, .signal = end.signal});
    };
    outputs_.on_output = [this](std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
        silence_.heard(stream, rank, bytes);
    };
    silence_.on_event = [this](wire::JobEvent::Type type) { tell({.type = type}); };
    followers_.on_order = [this](const wire::JobCommand& order, bool again) { obey(order, again); };
    followers_.on_lease_over = [this] { lease_is_over(); };
    if (job_.timeout_ms > 0) {
        loop_.after(job_.timeout_ms, [this] { time_is_over(); });
    }
    loop_.after_each_round([this] {
        ranks_.tell_failures();
        followers_.log_is(job_.log.size());
    });
    if (const auto guarded = guard_units(job_.summary.job, job_.held.descriptor()); !guarded) {
        note(guarded.error().message);
    }
    start_command();
}

void Supervisor::obey(const wire::JobCommand& order, bool again) {
    using Type = wire::JobCommand::Type;
    if (order.first) {
        job_.summary.result.first = order.first;
    }
    switch (order.type) {
    case Type::ping:
    case Type::line: // before the start only
    case Type::take:
        return;
    case Type::stop:
        if (cluster_) {
            cluster_->stop_members(order.grace_ms);
        }
        return stop("stop", again ? 0 : order.grace_ms);
    case Type::halt:
        if (order.attempt == job_.summary.result.attempt) {
            halt(order.grace_ms);
        }
        return;
    case Type::begin:
        return begin(order);
    case Type::report:
        return silence_.report(ranks_.running(), command_done_ ? 0 : command_, job_.account,
                               job_.environment);
    case Type::over:
        return over();
    case Type::detach:
        return detach();
    }
}

void Supervisor::tell(wire::JobEvent event) {
    event.attempt = job_.summary.result.attempt;
    followers_.tell(wire::job_event(event));
    told_.push_back(event);
    if (cluster_) {
        cluster_->hear_own(event);
    }
}

void Supervisor::start_command() {
    if (!job_.start.argv.empty()) {
        auto started = start_command_of(job_);
        if (started.pid == 0) {
            return cannot_start(started.error);
        }
        command_ = started.pid;
        out_ = std::move(started.out);
        err_ = std::move(started.err);
        outputs_.watch(out_, 1, -1);
        outputs_.watch(err_, 2, -1);
    }
    silence_.begin();
    tell({.type = wire::JobEvent::Type::started, .pid = command_});
}

void Supervisor::cannot_start(const ProgramError& error) {
    note(error.message);
    command_done_ = true;
    job_.summary.result.code = error.code;
    failed({.code = error.code});
    swept({});
}

void Supervisor::failed(wire::JobFailure failure) {
    if (stopping_) {
        return;
    }
    failure.oom = failure.signal == SIGKILL && oom_kills() > oom_kills_before_;
    failure.tail = job_.log.tail(failure.rank);
    auto& failures = job_.summary.result.failures;
    failures.push_back(failure);
    if (failures.size() == 1) {
        tell({.type = wire::JobEvent::Type::rank_failed, .failure = std::move(failure)});
    }
}

void Supervisor::on_signal() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo == SIGTERM) {
            stop("shutdown", engine_stop_grace_ms); // the container is being stopped
        }
    }
    reap();
}

void Supervisor::reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
        if (pid == command_ && !command_done_) {
            command_ended(exit_status(status));
        }
    }
    sweep_.look();
}

void Supervisor::command_ended(ExitStatus status) {
    command_done_ = true;
    ranks_.hear_all(); // what the ranks said before their launcher ended comes first
    drain_command();
    auto& result = job_.summary.result;
    result.code = status.code;
    result.signal = status.signal;
    if (status.code != 0 && result.failures.empty()) {
        failed({.code = status.code, .signal = status.signal});
    }
    if (!sweep_.under_way()) {
        // Only what it left behind itself: another node's command may still be at work here over ssh.
        sweep(Sweep::What::leftovers, std::min(job_.grace_ms, leftover_grace_ms),
              job_.start.stays ? Then::wait : Then::exit);
    }
}

void Supervisor::is_stopped_for(const std::string& reason) {
    auto& result = job_.summary.result;
    if (!stopping_ && !command_done_) {
        stopping_ = true;
        result.stopped = true;
        result.reason = reason;
    }
}

// Ends every process that bears the job's mark, and then the part.
void Supervisor::stop(const std::string& reason, std::int64_t grace_ms) {
    is_stopped_for(reason);
    if (!std::exchange(stop_told_, true) || grace_ms == 0) {
        sweep(Sweep::What::job, grace_ms, Then::exit);
    }
}

void Supervisor::halt(std::int64_t grace_ms) {
    is_stopped_for("stop");
    sweep(Sweep::What::job, grace_ms, Then::wait);
}

void Supervisor::over() {
    is_stopped_for("over");
    sweep(Sweep::What::job, command_done_ ? std::min(job_.grace_ms, leftover_grace_ms) : job_.grace_ms,
          Then::exit);
}

void Supervisor::lease_is_over() {
    const auto lease = std::to_string(job_.summary.lease_ms / 1000) + " s";
    note(cluster_ ? cluster_->silence(lease) : "no client was there for " + lease);
    stop("lease", job_.grace_ms);
}

// Begins the next attempt. An order for an attempt that has begun is a repetition, whose answer got lost.
void Supervisor::begin(const wire::JobCommand& order) {
    if (order.attempt != job_.summary.result.attempt + 1 || then_ == Then::exit) {
        return;
    }
    if (!waiting_) {
        wanted_ = order;
        return;
    }
    if (order.start) {
        job_.take_start(*order.start);
    }
    waiting_ = stopping_ = command_done_ = false;
    wanted_.reset();
    command_ = 0;
    ranks_.clear();
    outputs_.forget(out_);
    outputs_.forget(err_);
    oom_kills_before_ = oom_kills();
    followers_.forget_told();
    told_.clear();
    note("attempt " + std::to_string(order.attempt + 1) + " begins");
    const auto entered = job_.enter_attempt(order.attempt);
    (void)save_summary(job_.summary);
    if (!entered) {
        return cannot_start({.code = exit_codes::cannot_start, .message = entered.error().message});
    }
    start_command();
}

void Supervisor::detach() {
    if (!job_.summary.detached) {
        job_.summary.detached = true;
        (void)save_summary(job_.summary);
        if (!job_.start.stays) {
            followers_.held_by(FollowerList::Holder::nobody);
        } else {
            cluster_ = std::make_unique<DetachedPart>(loop_, job_, followers_);
            cluster_->on_order = [this](const wire::JobCommand& order) { obey(order, false); };
            for (const auto& event : std::vector(told_)) {
                cluster_->hear_own(event);
            }
        }
    }
    // Not remembered for others: it answers who has asked.
    followers_.answer(wire::job_event({.type = wire::JobEvent::Type::detached}));
}

void Supervisor::sweep(Sweep::What what, std::int64_t grace_ms, Then then) {
    then_ = std::max(then_, then);
    if (then == Then::wait) {
        waiting_ = false; // it says so again when all is gone
    }
    sweep_.begin(what, grace_ms);
}

// The time of --timeout is over. A part that is being ended already keeps its reason and its grace.
void Supervisor::time_is_over() {
    if (!stopping_ && !command_done_) {
        stop("timeout", job_.grace_ms);
    }
}

// Called when no process of this attempt is left but those that cannot be ended (`left`).
void Supervisor::swept(const std::vector<pid_t>& left) {
    if (finished_) {
        return;
    }
    collect(left);
    if (then_ == Then::exit || !job_.start.stays) {
        return exit();
    }
    wait_for_orders();
}

void Supervisor::collect(const std::vector<pid_t>& left) {
    if (!command_done_) {
        reap();
    }
    ranks_.hear_all();
    ranks_.drain();
    drain_command();
    silence_.end();
    job_.summary.result.ranks = ranks_.begun();
    if (!command_done_) {
        command_done_ = true;
        conclude_without_command(job_.summary.result, command_ != 0);
    }
    cannot_end_ = !left.empty();
    for (const auto pid : left) {
        note("process " + std::to_string(pid) +
             " does not end: it waits in the kernel for a device or a file server");
    }
}

void Supervisor::wait_for_orders() {
    waiting_ = true;
    (void)save_summary(job_.summary);
    tell({.type = wire::JobEvent::Type::ended, .result = job_.summary.result});
    if (const auto wanted = wanted_) {
        begin(*wanted);
    }
}

void Supervisor::exit() {
    finished_ = true;
    job_.summary.running = false;
    job_.summary.duration_ms = std::max<std::int64_t>(unix_ms() - job_.summary.started_ms, 1);
    job_.ports.clear();
    job_.summary.policy.relaunch.clear();
    remove_scratch(job_.summary.job);
    (void)save_summary(job_.summary);
    if (!cannot_end_) {
        job_.held.give_back(); // else PID 1 does, when they have ended
    }
    const wire::JobEvent event{.type = wire::JobEvent::Type::exited, .result = job_.summary.result};
    remove_doors(job_.summary.job);
    followers_.say_goodbye(wire::job_event(event));
    loop_.stop();
}

} // namespace

std::unique_ptr<SupervisedPart> supervise(Loop& loop, PreparedJob job) {
    return std::make_unique<Supervisor>(loop, std::move(job));
}

} // namespace dockdist::node

#include "node/job/supervisor.hpp"

#include "node/job/command_start.hpp"
#include "node/job/job_store.hpp"
#include "node/job/part_supervisor.hpp"
#include "node/job/pruning.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t leftover_grace_ms = 2000; // for what the command leaves behind when it ends by itself
constexpr std::int64_t engine_stop_grace_ms = 3000;
constexpr std::size_t longest_problem = 4096; // the kernel writes it whole
constexpr std::int64_t disk_look_ms = 5000;
constexpr std::int64_t shrunk_log = std::int64_t{16} << 20;

// What may come and go for as long as the job runs: who comes later hears the latest of its kind alone.
std::string passing_kind(wire::JobEvent::Type type) {
    using Type = wire::JobEvent::Type;
    return type == Type::still || type == Type::goes_on ? "still" : type == Type::examined ? "examined" : "";
}

} // namespace

void Supervisor::begin() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGPIPE, SIG_IGN);
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    if (auto taken = take_signals(signals)) {
        signals_ = std::move(*taken);
    }
    loop_.watch(signals_.get(), POLLIN, [this](short) { on_signal(); });
    ranks_.on_failed = [this](wire::JobFailure failure) { failed(std::move(failure)); };
    ranks_.on_done = [this](int rank) {
        if (!stopping_) {
            tell({.type = wire::JobEvent::Type::rank_done, .rank = rank});
        }
    };
    ranks_.on_note = [this](const std::string& line) { note(line); };
    outputs_.on_output = [this](std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
        silence_.heard(stream, rank, bytes);
        still_.heard();
    };
    ready_.on_ready = [this](const std::string& address) { is_ready(address); };
    ready_.on_note = [this](const std::string& line) { note(line); };
    silence_.on_event = [this](wire::JobEvent event) {
        if (event.type == wire::JobEvent::Type::examined) {
            event.node.gpu_faults = gpu_faults_.found();
        }
        tell(std::move(event));
    };
    still_.on_event = [this](wire::JobEvent event) { tell(std::move(event)); };
    recorder_.on_event = [this](wire::JobEvent event) { tell(std::move(event)); };
    sweep_.on_ranks_gone = [this] { tell({.type = wire::JobEvent::Type::ranks_gone}); };
    followers_.on_order = [this](const wire::JobCommand& order, bool again) { obey(order, again); };
    followers_.on_lease_over = [this] {
        lease_is_over("no client was there for " + std::to_string(job_.summary.lease_ms / 1000) + " s");
    };
    if (job_.timeout_ms > 0) {
        loop_.after(job_.timeout_ms, [this] { time_is_over(); });
    }
    loop_.after_each_round([this] {
        hear_start(); // before what its ranks say
        ranks_.tell_ends();
        followers_.log_is(job_.log.size());
    });
    watch_disk();
    guarded_ =
        std::make_unique<GuardedJob>(loop_, job_.summary.job, job_.summary.lease_ms, job_.held.descriptor());
    start_command();
    sync_begun_summary(job_.summary.job); // while that starts
}

// PID 1 sees that the disk fills, and has it said in the job's folder when nothing else is left to go.
void Supervisor::watch_disk() {
    if (::access(shrink_mark(job_.summary.job).c_str(), F_OK) == 0) {
        job_.log.shrink(shrunk_log, "less than 5 % of this host's disk was free, and from then on no more "
                                    "than the last 16 MiB of this node's output are kept");
    } else {
        loop_.after(disk_look_ms, [this] { watch_disk(); });
    }
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
    case Type::look:
        return;
    case Type::stop:
        if (cluster_) {
            cluster_->stop_members(order.grace_ms, order.signal);
        }
        return stop("stop", again ? 0 : order.grace_ms, order.signal);
    case Type::halt:
        if (order.takes_over && order.attempt != job_.summary.result.attempt) {
            followers_.forget_told();
            told_.clear();
            job_.summary.result.attempt = order.attempt;
        }
        if (order.attempt == job_.summary.result.attempt) {
            halt(order.grace_ms);
        }
        return;
    case Type::rest:
        if (order.attempt == job_.summary.result.attempt) {
            sweep_.go_on();
        }
        return;
    case Type::begin:
        return begin(order);
    case Type::report:
        return silence_.report(ranks_.running(), command_done_ ? 0 : command_, job_.account,
                               job_.environment);
    case Type::stacks:
        return tell_stacks(order.pause_ms);
    case Type::examine:
        gpu_faults_.begin(job_.summary.units);
        return silence_.examine(ranks_.running(), command_done_ ? 0 : command_, job_.account,
                                job_.environment, {.pause_ms = order.pause_ms, .asks_ras = order.asks_ras},
                                ranks_.ended());
    case Type::hang:
        return keep_hang(order);
    case Type::over:
        return over();
    case Type::detach:
        return detach();
    }
}

void Supervisor::tell(wire::JobEvent event) {
    event.attempt = job_.summary.result.attempt;
    const auto kind = passing_kind(event.type);
    followers_.tell(wire::job_event(event), kind);
    if (!kind.empty()) {
        std::erase_if(told_, [&](const wire::JobEvent& told) { return passing_kind(told.type) == kind; });
    }
    told_.push_back(event);
    if (cluster_) {
        cluster_->hear_own(event);
    }
}

void Supervisor::start_command() {
    silence_.begin();
    still_.begin();
    if (job_.start.argv.empty()) {
        return has_started();
    }
    auto started = start_command_of(job_);
    if (started.pid == 0) {
        return cannot_start(started.error, started.cause);
    }
    command_ = started.pid;
    out_ = std::move(started.out);
    err_ = std::move(started.err);
    outputs_.watch(out_, 1, -1);
    outputs_.watch(err_, 2, -1);
    start_problems_ = std::move(started.problems);
    loop_.watch(start_problems_.get(), POLLIN, [this](short) { hear_start(); });
}

// Until the command runs: a folder of a file server that hangs, or who stops its process, can keep it from
// that for ever, and holds up nothing else here.
void Supervisor::hear_start() {
    std::array<char, longest_problem> buffer{};
    ssize_t count = start_problems_.open() ? 1 : -1;
    while (count > 0) {
        count = ::read(start_problems_.get(), buffer.data(), buffer.size());
        start_problem_.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    if (count == 0) {
        loop_.forget(start_problems_.get());
        start_problems_.reset();
        if (start_problem_.empty()) {
            has_started();
        }
    }
}

void Supervisor::has_started() {
    tell({.type = wire::JobEvent::Type::started, .pid = command_});
    recorder_.begin_attempt();
    if (const auto service = asked_service(job_.start)) {
        ready_.begin(*service, own_address());
    }
}

void Supervisor::is_ready(const std::string& address) {
    job_.summary.ready = address;
    (void)save_summary(job_.summary);
    tell({.type = wire::JobEvent::Type::ready, .address = address});
}

void Supervisor::on_signal() {
    signalfd_siginfo info{};
    for (int i = 0; i < most_signals && ::read(signals_.get(), &info, sizeof info) > 0; ++i) {
        if (info.ssi_signo == SIGTERM) {
            if (cluster_) {
                cluster_->resign();
            }
            stop("shutdown", std::min(job_.grace_ms, engine_stop_grace_ms)); // its container is being stopped
        }
    }
    reap();
}

void Supervisor::reap() {
    loop_.cancel(reap_);
    const bool more = reap_children([this](pid_t pid, int status) {
        if (pid == command_ && !command_done_) {
            command_ended(exit_status(status));
        }
    });
    if (more) {
        reap_ = loop_.after(0, [this] { reap(); });
    }
    sweep_.look();
}

void Supervisor::command_ended(ExitStatus status) {
    hear_start();
    if (!start_problem_.empty()) {
        return cannot_start(start_error(std::exchange(start_problem_, {})));
    }
    command_done_ = true;
    stopping_ = stopping_ || (status.code == 0 && job_.start.leaves_servers);
    ranks_.hear_all(); // what the ranks said before their launcher ended comes first
    drain_command();
    auto& result = job_.summary.result;
    result.code = status.code;
    result.signal = status.signal;
    if (ends_for_failure_) {
        result.code = result.failures.front().code;
        result.signal = result.failures.front().signal;
    } else if (status.code != 0 && result.failures.empty()) {
        failed({.code = status.code, .signal = status.signal});
    }
    if (!sweep_.under_way()) {
        // Only what it left behind itself: another node's command may still be at work here over ssh.
        sweep(Sweep::What::leftovers,
              status.code == 0 ? std::min(job_.grace_ms, leftover_grace_ms) : job_.grace_ms,
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
void Supervisor::stop(const std::string& reason, std::int64_t grace_ms, int signal) {
    is_stopped_for(reason);
    if (!std::exchange(stop_told_, true) || grace_ms == 0) {
        sweep(Sweep::What::job, grace_ms, Then::exit, signal);
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

void Supervisor::lease_is_over(const std::string& why) {
    note(why);
    stop("lease", job_.grace_ms);
}

// Nobody knows of this attempt whether it goes on elsewhere. The part waits for a coordinator.
void Supervisor::pause(const std::string& why) {
    note(why);
    is_stopped_for("lease");
    sweep(Sweep::What::job, job_.grace_ms, Then::wait);
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
    sweep_.forget();
    outputs_.forget(out_);
    outputs_.forget(err_);
    start_problem_.clear();
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
            followers_.need_no_client();
        } else {
            cluster_ = std::make_unique<DetachedPart>(
                loop_, job_, followers_,
                DetachedPart::Listener{
                    .on_order = [this](const wire::JobCommand& order) { obey(order, false); },
                    .on_silence = [this](const std::string& why) { pause(why); },
                    .on_over = [this](const std::string& why) { lease_is_over(why); }});
            guarded_->is_detached();
            cluster_->begin();
            for (const auto& event : std::vector(told_)) {
                cluster_->hear_own(event);
            }
        }
    }
    // Not remembered for others: it answers who has asked.
    followers_.answer(wire::job_event({.type = wire::JobEvent::Type::detached}));
}

// The time of --timeout is over. A part that is being ended already keeps its reason and its grace.
void Supervisor::time_is_over() {
    if (!stopping_ && !command_done_) {
        stop("timeout", job_.grace_ms);
    }
}

std::unique_ptr<SupervisedPart> supervise(Loop& loop, PreparedJob job) {
    return std::make_unique<Supervisor>(loop, std::move(job));
}

} // namespace dockdist::node

#include "node/supervisor.hpp"

#include "node/command_start.hpp"
#include "node/ending.hpp"
#include "node/follower_list.hpp"
#include "node/job_part.hpp"
#include "node/job_store.hpp"
#include "node/keeper.hpp"
#include "node/keeper_link.hpp"
#include "node/loop.hpp"
#include "node/oom.hpp"
#include "node/rank_channel.hpp"
#include "node/session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t leftover_grace_ms = 2000; // for what the command leaves behind when it ends by itself
constexpr std::int64_t engine_stop_grace_ms = 3000;
constexpr std::size_t chunk = 256U << 10U;

class Supervisor {
public:
    explicit Supervisor(PreparedJob job)
        : job_(std::move(job)), followers_(loop_, std::move(job_.control), job_.summary.lease_ms) {}

    int run();

private:
    struct RankConnection {
        Fd socket{};
        RankMessage begun{};
        Fd out{}, err{};
    };
    struct RankEnd {
        std::int64_t at_us = 0;
        RankMessage begun{};
        ExitStatus status{};
    };

    void obey(const wire::JobCommand& order, bool again);
    void tell(wire::JobEvent event);
    void start_command();
    void cannot_start(const ProgramError& error);
    void on_signal();
    void reap();
    void command_ended(ExitStatus status);
    void accept_rank();
    void hear_rank(RankConnection& rank);
    void hear_all_ranks();
    void watch_output(const Fd& pipe, std::uint8_t stream, std::int32_t rank);
    bool read_output(const Fd& pipe, std::uint8_t stream, std::int32_t rank);
    void drain(Fd& pipe, std::uint8_t stream, std::int32_t rank);
    void failed(std::int32_t rank, std::int32_t local_rank, ExitStatus status);
    void stop(const std::string& reason, std::int64_t grace_ms);
    void halt(std::int64_t grace_ms);
    void over();
    void begin(int attempt);
    void detach();
    void lease_is_over();
    void time_is_over();
    void take_first(const wire::JobCommand& order);
    // What is to follow when the processes are gone.
    enum class Then { wait, exit };
    void sweep(const ProcessScope& scope, std::int64_t grace_ms, Then then);
    void swept(const std::vector<pid_t>& left);
    void end_without_command();
    void collect(const std::vector<pid_t>& left);
    void wait_for_orders();
    void exit();
    bool is_keeper() const { return job_.start.part == 0; }

    Loop loop_{};
    PreparedJob job_;
    FollowerList followers_;
    std::unique_ptr<Ending> ending_{};
    Then then_ = Then::wait;
    bool sweeping_ = false;
    bool sweeping_all_ = false; // everything with the mark, not only the command's leftovers
    int sweeps_ = 0;            // the latest one counts
    // Of a detached job: one or the other.
    std::unique_ptr<Keeper> keeper_{};
    std::unique_ptr<KeeperLink> link_{};
    std::vector<wire::JobEvent> told_{}; // of this attempt, for a keeper that begins later
    Fd signals_{};
    Fd out_{}, err_{}; // of the command
    std::vector<std::unique_ptr<RankConnection>> ranks_{};
    std::vector<RankEnd> failed_ranks_{}; // not yet told
    std::string buffer_ = std::string(chunk, '\0');
    std::int64_t oom_kills_before_ = oom_kills();
    pid_t command_ = 0;
    bool command_done_ = false;
    bool stopping_ = false; // what ends now is ended by us
    bool stop_told_ = false;
    bool waiting_ = false;   // for orders: nothing of the attempt is left
    int wanted_attempt_ = 0; // ordered while the one before was still ending
    bool finished_ = false;
};

int Supervisor::run() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGPIPE, SIG_IGN);
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    if (auto taken = take_signals(signals)) {
        signals_ = std::move(*taken);
    }
    loop_.watch(signals_.get(), POLLIN, [this](short) { on_signal(); });
    loop_.watch(job_.ranks.get(), POLLIN, [this](short) { accept_rank(); });
    followers_.on_order = [this](const wire::JobCommand& order, bool again) { obey(order, again); };
    followers_.on_lease_over = [this] { lease_is_over(); };
    if (job_.timeout_ms > 0) {
        loop_.after(job_.timeout_ms, [this] { time_is_over(); });
    }
    loop_.after_each_round([this] {
        if (!failed_ranks_.empty()) {
            hear_all_ranks();
        }
        followers_.log_is(job_.log.size());
    });
    start_command();
    if (!finished_) {
        loop_.run();
    }
    return 0;
}

void Supervisor::obey(const wire::JobCommand& order, bool again) {
    using Type = wire::JobCommand::Type;
    take_first(order);
    switch (order.type) {
    case Type::ping:
        return;
    case Type::stop:
        if (keeper_) {
            keeper_->stop_members(order.grace_ms);
        }
        return stop("stop", again ? 0 : order.grace_ms);
    case Type::halt:
        if (order.attempt == job_.summary.result.attempt) {
            halt(order.grace_ms);
        }
        return;
    case Type::begin:
        return begin(order.attempt);
    case Type::over:
        return over();
    case Type::detach:
        return detach();
    }
}

void Supervisor::take_first(const wire::JobCommand& order) {
    if (!order.first_node.empty()) {
        job_.summary.result.first_node = order.first_node;
        job_.summary.result.first = order.first;
    }
}

void Supervisor::tell(wire::JobEvent event) {
    event.attempt = job_.summary.result.attempt;
    followers_.tell(wire::job_event(event));
    told_.push_back(event);
    if (keeper_) {
        keeper_->hear_own(event);
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
        watch_output(out_, 1, -1);
        watch_output(err_, 2, -1);
    }
    wire::JobEvent event{.type = wire::JobEvent::Type::started};
    event.pid = command_;
    tell(std::move(event));
}

void Supervisor::cannot_start(const ProgramError& error) {
    job_.log.append(2, -1, "dockdist: " + error.message + "\n");
    command_done_ = true;
    job_.summary.result.code = error.code;
    failed(-1, -1, {.code = error.code});
    swept({});
}

void Supervisor::watch_output(const Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    set_nonblocking(pipe.get());
    loop_.watch(pipe.get(), POLLIN, [this, &pipe, stream, rank](short) {
        if (!read_output(pipe, stream, rank)) {
            loop_.forget(pipe.get());
        }
    });
}

// False at the end of the stream.
bool Supervisor::read_output(const Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    const auto count = ::read(pipe.get(), buffer_.data(), buffer_.size());
    if (count > 0) {
        job_.log.append(stream, rank, std::string_view(buffer_).substr(0, static_cast<std::size_t>(count)));
        return true;
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

// Takes what is in the pipe now. Whoever holds the other end may go on writing, so it does not wait for the
// end.
void Supervisor::drain(Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    while (pipe.open()) {
        const auto before = job_.log.size();
        if (!read_output(pipe, stream, rank)) {
            loop_.forget(pipe.get());
            pipe.reset();
        } else if (job_.log.size() == before) {
            return;
        }
    }
}

void Supervisor::accept_rank() {
    Fd socket(::accept4(job_.ranks.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (!socket.open() || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        (credentials.uid != 0 && credentials.uid != job_.account.uid)) {
        return;
    }
    const int number = socket.get();
    auto& rank = *ranks_.emplace_back(std::make_unique<RankConnection>());
    rank.socket = std::move(socket);
    loop_.watch(number, POLLIN, [this, &rank](short) { hear_rank(rank); });
}

void Supervisor::hear_rank(RankConnection& rank) {
    while (rank.socket.open()) {
        auto received = receive_rank_message(rank.socket.get());
        if (received && !*received) {
            return;
        }
        if (received && (*received)->message.kind == RankMessage::Kind::begun && !rank.out.open()) {
            ++job_.summary.result.ranks;
            rank.begun = (*received)->message;
            rank.out = std::move((*received)->out);
            rank.err = std::move((*received)->err);
            watch_output(rank.out, 1, rank.begun.rank);
            watch_output(rank.err, 2, rank.begun.rank);
            continue;
        }
        // The rank has ended, or its shim was killed and the rank with it.
        loop_.forget(rank.socket.get());
        rank.socket.reset();
        drain(rank.out, 1, rank.begun.rank);
        drain(rank.err, 2, rank.begun.rank);
        RankEnd end{.at_us = monotonic_us(),
                    .begun = rank.begun,
                    .status = {.code = 128 + SIGKILL, .signal = SIGKILL}};
        if (received) {
            const auto& message = (*received)->message;
            end.at_us = message.at_us;
            end.status = {.code = message.code, .signal = message.signal};
        }
        if (end.status.code != 0) {
            failed_ranks_.push_back(end);
        }
    }
}

// The first failure is the one that people look at. When one is heard, all that came before it have been sent
// too, and wait in some other socket.
void Supervisor::hear_all_ranks() {
    for (const auto& rank : ranks_) {
        hear_rank(*rank);
    }
    std::ranges::sort(failed_ranks_, {}, &RankEnd::at_us);
    for (const auto& end : std::exchange(failed_ranks_, {})) {
        failed(end.begun.rank, end.begun.local_rank, end.status);
    }
}

void Supervisor::failed(std::int32_t rank, std::int32_t local_rank, ExitStatus status) {
    if (stopping_) {
        return;
    }
    wire::RankFailure failure{
        .rank = rank, .local_rank = local_rank, .code = status.code, .signal = status.signal};
    failure.oom = status.signal == SIGKILL && oom_kills() > oom_kills_before_;
    failure.tail = job_.log.tail(rank);
    auto& failures = job_.summary.result.failures;
    failures.push_back(failure);
    if (failures.size() == 1) {
        wire::JobEvent event{.type = wire::JobEvent::Type::rank_failed};
        event.failure = std::move(failure);
        tell(std::move(event));
    }
}

void Supervisor::on_signal() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo == SIGTERM) {
            stop("stop", engine_stop_grace_ms); // the container is being stopped
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
    if (ending_) {
        ending_->look();
    }
}

void Supervisor::command_ended(ExitStatus status) {
    command_done_ = true;
    hear_all_ranks(); // what the ranks said before their launcher ended comes first
    drain(out_, 1, -1);
    drain(err_, 2, -1);
    auto& result = job_.summary.result;
    result.code = status.code;
    result.signal = status.signal;
    if (status.code != 0 && result.failures.empty()) {
        failed(-1, -1, status);
    }
    if (!sweeping_) {
        // Only what it left behind itself: another node's command may still be at work here over ssh.
        sweep({.mark = {}, .root = ::getpid()}, std::min(job_.grace_ms, leftover_grace_ms),
              job_.start.stays ? Then::wait : Then::exit);
    }
}

// Everything with the job's mark.
void Supervisor::stop(const std::string& reason, std::int64_t grace_ms) {
    auto& result = job_.summary.result;
    if (!stopping_ && !command_done_) {
        stopping_ = true;
        result.stopped = true;
        result.reason = reason;
    }
    if (!std::exchange(stop_told_, true) || grace_ms == 0) {
        sweep({.mark = job_.summary.job, .root = ::getpid()}, grace_ms, Then::exit);
    }
}

void Supervisor::halt(std::int64_t grace_ms) {
    auto& result = job_.summary.result;
    if (!stopping_ && !command_done_) {
        stopping_ = true;
        result.stopped = true;
        result.reason = "stop";
    }
    sweep({.mark = job_.summary.job, .root = ::getpid()}, grace_ms, Then::wait);
}

void Supervisor::over() {
    auto& result = job_.summary.result;
    if (!command_done_ && !stopping_) {
        stopping_ = true;
        result.stopped = true;
        result.reason = "over";
    }
    sweep({.mark = job_.summary.job, .root = ::getpid()},
          command_done_ ? std::min(job_.grace_ms, leftover_grace_ms) : job_.grace_ms, Then::exit);
}

void Supervisor::lease_is_over() {
    const auto seconds = std::to_string(job_.summary.lease_ms / 1000) + " s";
    job_.log.append(2, -1,
                    link_
                        ? "dockdist: nothing was heard of the job's keeper, " +
                              job_.start.course.parts.front().node + ", for " + seconds +
                              (link_->last_words().empty() ? "" : "; ssh said: " + link_->last_words()) + "\n"
                        : "dockdist: no client was there for " + seconds + "\n");
    stop("lease", job_.grace_ms);
}

// Again an order that has been obeyed: its answer got lost.
void Supervisor::begin(int attempt) {
    if (attempt != job_.summary.result.attempt + 1 || then_ == Then::exit) {
        return;
    }
    if (!waiting_) {
        wanted_attempt_ = attempt;
        return;
    }
    waiting_ = false;
    wanted_attempt_ = 0;
    stopping_ = false;
    command_done_ = false;
    command_ = 0;
    ranks_.clear();
    failed_ranks_.clear();
    oom_kills_before_ = oom_kills();
    job_.summary.result = {.attempt = attempt};
    (void)save_summary(job_.summary);
    followers_.forget_told();
    told_.clear();
    job_.log.append(2, -1, "dockdist: attempt " + std::to_string(attempt + 1) + " begins\n");
    if (const auto entered = job_.enter_attempt(attempt); !entered) {
        return cannot_start({.code = 126, .message = entered.error().message});
    }
    start_command();
}

void Supervisor::detach() {
    if (!job_.summary.detached) {
        job_.summary.detached = true;
        (void)save_summary(job_.summary);
        const auto& course = job_.start.course;
        if (!job_.start.stays) {
            followers_.held_by(FollowerList::Holder::nobody);
        } else if (is_keeper()) {
            followers_.held_by(FollowerList::Holder::nobody);
            keeper_ = std::make_unique<Keeper>(loop_, course, std::move(job_.members), job_.summary.lease_ms);
            keeper_->on_order = [this](const wire::JobCommand& order) { obey(order, false); };
            keeper_->on_note = [this](const std::string& line) { job_.log.append(2, -1, line + "\n"); };
            for (const auto& event : std::vector(told_)) {
                keeper_->hear_own(event);
            }
        } else {
            followers_.held_by(FollowerList::Holder::link);
            link_ = std::make_unique<KeeperLink>(
                loop_,
                KeeperLink::Target{
                    .job = job_.summary.job, .node = course.parts.front().node, .part = job_.start.part},
                job_.account,
                [this](Fd socket) { followers_.add_link(std::move(socket), [this] { link_->ended(); }); });
            link_->dial();
        }
    }
    // Not remembered for others: it answers who has asked.
    followers_.answer(wire::job_event({.type = wire::JobEvent::Type::detached}));
}

void Supervisor::sweep(const ProcessScope& scope, std::int64_t grace_ms, Then then) {
    then_ = std::max(then_, then);
    if (waiting_ && then == Then::wait) {
        waiting_ = false; // it says so again when all is gone
    }
    const bool wider = sweeping_ && !scope.mark.empty() && !sweeping_all_;
    if (!sweeping_ || wider) {
        sweeping_ = true;
        sweeping_all_ = !scope.mark.empty();
        const int sweep = ++sweeps_;
        // Never at once: whoever has ordered this is still speaking.
        ending_ = std::make_unique<Ending>(loop_, scope, [this, sweep](std::vector<pid_t> left) {
            loop_.after(0, [this, sweep, left = std::move(left)] {
                if (sweep == sweeps_) {
                    swept(left);
                }
            });
        });
    }
    ending_->begin(grace_ms);
}

// What is being ended already keeps its reason and its grace.
void Supervisor::time_is_over() {
    if (!stopping_ && !command_done_) {
        stop("timeout", job_.grace_ms);
    }
}

// What the job's code is when no command gave one.
void Supervisor::end_without_command() {
    command_done_ = true;
    auto& result = job_.summary.result;
    if (command_ != 0) {
        result.code = 128 + SIGKILL;
        result.signal = SIGKILL;
    } else if (!result.failures.empty()) {
        result.code = result.failures.front().code;
        result.signal = result.failures.front().signal;
    }
}

// No process of this attempt is left, but for those that cannot be ended.
void Supervisor::swept(const std::vector<pid_t>& left) {
    if (finished_) {
        return;
    }
    sweeping_ = false;
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
    hear_all_ranks();
    for (const auto& rank : ranks_) {
        drain(rank->out, 1, rank->begun.rank);
        drain(rank->err, 2, rank->begun.rank);
    }
    drain(out_, 1, -1);
    drain(err_, 2, -1);
    if (!command_done_) {
        end_without_command();
    }
    for (const auto pid : left) {
        job_.log.append(2, -1,
                        "dockdist: process " + std::to_string(pid) +
                            " does not end: it waits in the kernel for a device or a file server\n");
    }
}

void Supervisor::wait_for_orders() {
    waiting_ = true;
    (void)save_summary(job_.summary);
    wire::JobEvent event{.type = wire::JobEvent::Type::ended};
    event.result = job_.summary.result;
    tell(std::move(event));
    if (wanted_attempt_ != 0) {
        begin(wanted_attempt_);
    }
}

void Supervisor::exit() {
    finished_ = true;
    job_.summary.running = false;
    job_.summary.duration_ms = std::max<std::int64_t>(unix_ms() - job_.summary.started_ms, 1);
    job_.ports.clear();
    remove_scratch(job_.summary.job);
    (void)save_summary(job_.summary);
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result = job_.summary.result;
    // Nobody finds a supervisor from here on: a follower that comes now reads the summary.
    ::unlink(control_socket(job_.summary.job).c_str());
    ::unlink(rank_socket(job_.summary.job).c_str());
    ::unlink(member_socket(job_.summary.job).c_str());
    followers_.say_goodbye(wire::job_event(event));
    loop_.stop();
}

} // namespace

Status PreparedJob::enter_attempt(int attempt) {
    part.env["DOCKDIST_RESTART_COUNT"] = std::to_string(attempt);
    part.env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(attempt);
    environment = job_environment(recorded_environment(), part, account);
    return make_scratch(part, start.files, account);
}

int supervise(PreparedJob job) {
    Supervisor supervisor(std::move(job));
    return supervisor.run();
}

} // namespace dockdist::node

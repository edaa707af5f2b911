#include "node/job/rank/rank_shim.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "node/job/job_store.hpp"
#include "node/job/rank/rank_channel.hpp"
#include "node/job/rank/rank_environment.hpp"
#include "node/session/job_part.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/process_stat.hpp"
#include "node/system/program.hpp"
#include "node/system/unix_socket.hpp"
#include "rdma/variables.hpp"
#include "wire/job.hpp"
#include "wire/join.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

int die_as(ExitStatus status) {
    if (status.signal != 0) {
        const rlimit none{.rlim_cur = 0, .rlim_max = 0};
        ::setrlimit(RLIMIT_CORE, &none); // the rank has dumped its own
        reset_signals();
        ::kill(::getpid(), status.signal);
    }
    return status.code;
}

struct Streams {
    Fd supervisor{};
    Pipe out{}, err{};
};

Streams offer_streams(const std::string& job, int rank, int local_rank) {
    Streams streams;
    auto socket = connect_unix(rank_socket(job), SOCK_SEQPACKET);
    auto out = make_pipe();
    auto err = make_pipe();
    if (!socket || !out || !err) {
        return streams;
    }
    constexpr int roomy = 1 << 20;
    (void)::fcntl(out->write.get(), F_SETPIPE_SZ, roomy);
    const RankMessage begun{.kind = RankMessage::Kind::begun, .rank = rank, .local_rank = local_rank};
    if (!send_rank_message(socket->get(), begun, out->read.get(), err->read.get())) {
        return streams;
    }
    out->read.reset();
    err->read.reset();
    streams = {.supervisor = std::move(*socket), .out = std::move(*out), .err = std::move(*err)};
    return streams;
}

// Beside the rank. What it leaves behind comes to this process.
class Shim {
public:
    Shim(pid_t rank, int signals, Streams& streams) : rank_(rank), signals_(signals), streams_(streams) {}

    // `on_end` is called at once when the rank has ended.
    ExitStatus wait(const std::function<void(ExitStatus)>& on_end);

private:
    bool may_go(bool alone) const;
    void hear_signals();
    void hear_launcher(int signal);
    void end_by(int signal);
    void reap();
    bool tell_what_is_left();

    pid_t rank_;
    int signals_;
    Streams& streams_;
    std::optional<ExitStatus> end_{};
    int ends_by_ = 0;        // what has told the rank to end
    bool job_ends_ = false;  // then the launcher's word counts no more
    bool let_go_ = false;    // the launchers are told, too
    std::set<pid_t> told_{}; // of what the rank has left
};

ExitStatus Shim::wait(const std::function<void(ExitStatus)>& on_end) {
    while (true) {
        std::array<pollfd, 2> ready{
            pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
            pollfd{.fd = end_ ? streams_.supervisor.get() : -1, .events = 0, .revents = 0}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[1].revents != 0) {
            streams_.supervisor.reset();
        }
        const bool was_there = !end_;
        hear_signals();
        reap();
        if (was_there && end_) {
            on_end(*end_);
        }
        if (end_ && may_go(!tell_what_is_left())) {
            return *end_;
        }
    }
}

// A launcher that sees a rank fail, or is told to end, ends the other ranks after a time of its own. So it
// hears of no failure, and nothing at all once the job ends, before the supervisor has seen all ranks off.
bool Shim::may_go(bool alone) const {
    const bool supervised = streams_.supervisor.open();
    return job_ends_ ? alone && (let_go_ || !supervised) : end_->code == 0 || !supervised;
}

void Shim::hear_signals() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (is_of_an_end(info)) {
            let_go_ = let_go_ || info.ssi_int == told_to_all;
            job_ends_ = true;
            end_by(signal);
        } else if (signal != SIGCHLD && !job_ends_) {
            hear_launcher(signal);
        }
    }
}

void Shim::hear_launcher(int signal) {
    constexpr std::array ending{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    if (ends_by_ == 0 && std::ranges::find(ending, signal) != ending.end()) {
        return end_by(signal);
    }
    if (!end_) {
        ::kill(rank_, signal);
    }
}

// Once. A Ctrl-C is for all that a terminal would tell.
void Shim::end_by(int signal) {
    if (ends_by_ == 0) {
        ends_by_ = signal;
        if (!end_) {
            ::kill(signal == SIGINT ? -rank_ : rank_, signal);
            ::kill(rank_, SIGCONT);
        }
    }
}

void Shim::reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
        if (pid == rank_) {
            end_ = exit_status(status);
        }
    }
}

// Whether there is something. It hears what the rank has heard, which is there no more.
bool Shim::tell_what_is_left() {
    bool some = false;
    const pid_t own = ::getpid();
    for (const auto& process : all_processes()) {
        if (process.parent != own || process.has_ended()) {
            continue;
        }
        some = true;
        if (ends_by_ != 0 && told_.insert(process.pid).second) {
            ::kill(process.pid, look_at(process).hears(ends_by_) ? ends_by_ : SIGTERM);
            ::kill(process.pid, SIGCONT);
        }
    }
    return some;
}

Result<JobPart> find_part(const Environment& own) {
    const auto job = own.get(wire::job_mark).value_or("");
    if (job.empty()) {
        return Error{.kind = ErrorKind::usage,
                     .message = std::string(wire::job_mark) + " is not set: no job has started this",
                     .hint = "it is what dockdist's launchers start, and no command for people"};
    }
    auto part = load_part(job);
    if (!part) {
        return Error{.kind = ErrorKind::not_found,
                     .message =
                         "this node has no part of job " + printable(job) + " (" + part.error().message + ")",
                     .hint = "the launcher chose a node that is not of the job: look at its hostfile"};
    }
    if (part->rank_command.empty()) {
        return Error{.kind = ErrorKind::usage, .message = "job " + job + " has no command for ranks"};
    }
    return part;
}

[[noreturn]] void run_child(const JobPart& part, Environment& environment, const Streams& streams,
                            pid_t shim) {
    ::setpgid(0, 0); // each signal reaches the rank once, also when the launcher signals its group
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != shim) {
        ::_exit(exit_codes::by_signal(SIGKILL));
    }
    reset_signals();
    if (streams.supervisor.open()) {
        ::dup2(streams.out.write.get(), STDOUT_FILENO);
        ::dup2(streams.err.write.get(), STDERR_FILENO);
    }
    if (const auto entered = enter_folder(part.workdir); !entered) {
        (void)write_all(STDERR_FILENO, "dockdist: " + to_text(entered.error()) + "\n");
        ::_exit(exit_codes::cannot_start);
    }
    ::_exit(exec_program(rank_argv(part, environment), environment));
}

// Asked only where a launcher has brought another value than the node's own.
bool is_told_to_a_node(std::string_view name, std::string_view value) {
    static const auto members = wire::parse_members(read_file_or_empty(paths().members));
    return !members || rdma::is_told(members->nodes, name, value);
}

} // namespace

int run_rank(Environment own) {
    const auto part = find_part(own);
    if (!part) {
        (void)write_all(STDERR_FILENO, "dockdist-init rank: " + to_text(part.error()) + "\n");
        return exit_codes::own_failure;
    }
    auto environment = rank_environment(std::move(own), recorded_environment(), *part, is_told_to_a_node);
    const int rank = number_in(environment, "RANK");
    const int local_rank = number_in(environment, "LOCAL_RANK");
    auto streams = offer_streams(part->job, rank, local_rank);

    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGCONT, SIGALRM};
    const auto signal_fd = take_signals(signals);
    become_gate(rank_gate);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t shim = ::getpid();
    const pid_t child = signal_fd ? ::fork() : -1;
    if (child < 0) {
        (void)write_all(STDERR_FILENO,
                        "dockdist-init rank: " + system_error("cannot start the rank", errno).message + "\n");
        return exit_codes::cannot_start;
    }
    if (child == 0) {
        run_child(*part, environment, streams, shim);
    }
    streams.out = {};
    streams.err = {};
    const auto status = Shim(child, signal_fd->get(), streams).wait([&](ExitStatus end) {
        if (streams.supervisor.open()) {
            (void)send_rank_message(streams.supervisor.get(), {.kind = RankMessage::Kind::ended,
                                                               .rank = rank,
                                                               .local_rank = local_rank,
                                                               .code = end.code,
                                                               .signal = end.signal,
                                                               .at_us = monotonic_us()});
        }
    });
    return die_as(status);
}

} // namespace dockdist::node

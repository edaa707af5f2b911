#include "node/job/rank/rank_shim.hpp"

#include "node/job/job_store.hpp"
#include "node/job/rank/rank_environment.hpp"
#include "node/job/rank/rank_words.hpp"
#include "node/session/job_part.hpp"
#include "node/session/session.hpp"
#include "node/system/fifo_door.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/process_stat.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/rdma/variables.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/join.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
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

std::optional<Knock> knock(const JobPart& part, int rank, int local_rank) {
    auto knocked = Knock::at(rank_door(part.job), scratch_folder(part.job),
                             rank_words({.rank = rank, .local_rank = local_rank, .shim = ::getpid()}),
                             KnockWith::outputs);
    return knocked ? std::optional(std::move(*knocked)) : std::nullopt;
}

int rank_number(const Environment& environment, const char* name) {
    const int number = number_in(environment, name);
    return number < 0 || number > wire::max_rank ? -1 : number;
}

// Beside the rank. What it leaves behind comes to this process.
class Shim {
public:
    Shim(pid_t rank, int signals, std::optional<Knock>& supervisor)
        : rank_(rank), signals_(signals), supervisor_(supervisor) {}

    ExitStatus wait();

private:
    void hear_supervisor(bool unheard);
    void tell_end();
    bool may_go(bool alone) const;
    void hear_signals();
    void hear_launcher(int signal);
    void end_by(int signal);
    void reap();
    bool tell_what_is_left();

    pid_t rank_;
    int signals_;
    std::optional<Knock>& supervisor_; // nothing: there is none, or no more
    std::optional<ExitStatus> end_{};
    int ends_by_ = 0;        // what has told the rank to end
    bool job_ends_ = false;  // then the launcher's word counts no more
    bool let_go_ = false;    // the launchers are told, too
    std::set<pid_t> told_{}; // of what the rank has left
};

ExitStatus Shim::wait() {
    while (true) {
        const bool unheard = supervisor_ && !supervisor_->was_heard();
        std::array<pollfd, 2> ready{pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = unheard || (supervisor_ && end_) ? supervisor_->from() : -1,
                                           .events = static_cast<short>(unheard ? POLLIN : 0),
                                           .revents = 0}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[1].revents != 0) {
            hear_supervisor(unheard);
        }
        const bool was_there = !end_;
        hear_signals();
        reap();
        if (was_there && end_) {
            tell_end();
        }
        if (end_ && may_go(!tell_what_is_left())) {
            return *end_;
        }
    }
}

void Shim::hear_supervisor(bool unheard) {
    if (unheard) {
        supervisor_->hear();
    } else {
        supervisor_.reset(); // it has left
    }
}

// At once; what is in a FIFO when nobody has opened its other end goes with this process.
void Shim::tell_end() {
    if (supervisor_) {
        send_rank_end(supervisor_->to(),
                      {.code = end_->code, .signal = end_->signal, .at_us = monotonic_us()});
        if (!supervisor_->await_heard()) {
            supervisor_.reset();
        }
    }
}

// A launcher that sees a rank fail, or is told to end, ends the other ranks after a time of its own. So it
// hears of no failure, and nothing at all once the job ends, before the supervisor has seen all ranks off.
bool Shim::may_go(bool alone) const {
    const bool supervised = supervisor_.has_value();
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
                     .hint = "dockdist's launchers start it; it is not meant to be run by hand"};
    }
    auto part = load_part(job);
    if (!part) {
        return Error{.kind = ErrorKind::not_found,
                     .message =
                         "this node has no part in job " + printable(job) + " (" + part.error().message + ")",
                     .hint = "the launcher chose a node that is not part of the job: look at its hostfile"};
    }
    if (part->rank_command.empty()) {
        return Error{.kind = ErrorKind::usage, .message = "job " + job + " has no command for ranks"};
    }
    return part;
}

[[noreturn]] void run_child(const JobPart& part, Environment& environment,
                            const std::optional<Knock>& supervisor, pid_t shim) {
    may_be_read();
    ::setpgid(0, 0); // each signal reaches the rank once, also when the launcher signals its group
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != shim) {
        ::_exit(exit_codes::by_signal(SIGKILL));
    }
    reset_signals();
    if (supervisor) {
        ::dup2(supervisor->out().get(), STDOUT_FILENO);
        ::dup2(supervisor->err().get(), STDERR_FILENO);
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
    ::signal(SIGPIPE, SIG_IGN);
    auto supervisor = knock(*part, rank_number(environment, "RANK"), rank_number(environment, "LOCAL_RANK"));

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
        run_child(*part, environment, supervisor, shim);
    }
    if (supervisor) {
        supervisor->forget_outputs();
    }
    const auto status = Shim(child, signal_fd->get(), supervisor).wait();
    return die_as(status);
}

} // namespace dockdist::node

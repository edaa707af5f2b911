#include "node/job/rank/rank_shim.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
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
#include "rdma/variables.hpp"
#include "wire/frame.hpp"
#include "wire/job.hpp"
#include "wire/join.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
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

// Waits for the child and hands on every signal but those that the whole job gets anyway.
ExitStatus wait_for(pid_t child, int signal_fd, std::optional<Knock>& supervisor) {
    while (true) {
        const int unheard = supervisor && !supervisor->was_heard() ? supervisor->from() : -1;
        std::array<pollfd, 2> ready{pollfd{.fd = signal_fd, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = unheard, .events = POLLIN, .revents = 0}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[1].revents != 0) {
            supervisor->hear();
        }
        signalfd_siginfo info{};
        while (::read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            const bool for_all = info.ssi_code == SI_QUEUE && info.ssi_int == told_to_all;
            if (info.ssi_signo != SIGCHLD && !for_all) {
                ::kill(child, static_cast<int>(info.ssi_signo));
            }
        }
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) {
            return exit_status(status);
        }
    }
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

[[noreturn]] void run_child(const JobPart& part, Environment& environment,
                            const std::optional<Knock>& supervisor, pid_t shim) {
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
    const auto status = wait_for(child, signal_fd->get(), supervisor);
    if (supervisor) {
        send_rank_end(supervisor->to(),
                      {.code = status.code, .signal = status.signal, .at_us = monotonic_us()});
        (void)supervisor->await_heard(); // else what was said goes with this process
    }
    return die_as(status);
}

} // namespace dockdist::node

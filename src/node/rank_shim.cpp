#include "node/rank_shim.hpp"

#include "node/ending.hpp"
#include "node/init_channel.hpp"
#include "node/job_store.hpp"
#include "node/process.hpp"
#include "node/rank_channel.hpp"
#include "wire/job.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

int number_of(const Environment& environment, const char* name) {
    const auto text = environment.get(name).value_or("");
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

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

Streams offer_streams(const Environment& environment, int rank, int local_rank) {
    Streams streams;
    const auto job = environment.get(wire::job_mark).value_or("");
    if (!wire::is_job_id(job)) {
        return streams;
    }
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

// Waits for the child and hands on every signal but those that the whole job gets anyway.
ExitStatus wait_for(pid_t child, int signal_fd) {
    while (true) {
        pollfd ready{.fd = signal_fd, .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, -1);
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

} // namespace

void name_ranks(Environment& environment) {
    struct Names {
        const char* name;
        std::array<const char*, 4> others; // Open MPI, PMI, MPICH's own, Slurm
    };
    constexpr std::array table{
        Names{"RANK", {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}},
        Names{"LOCAL_RANK",
              {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}},
        Names{"WORLD_SIZE", {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "", "SLURM_NTASKS"}},
        Names{"LOCAL_WORLD_SIZE", {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", ""}},
    };
    for (const auto& entry : table) {
        for (const auto* other : entry.others) {
            if (const auto value = environment.get(other); *other != '\0' && value) {
                environment.set_default(entry.name, *value);
            }
        }
    }
}

int run_rank(const std::vector<std::string>& arguments) {
    const auto skip = !arguments.empty() && arguments.front() == "--" ? 1 : 0;
    const std::vector<std::string> argv(arguments.begin() + skip, arguments.end());
    if (argv.empty()) {
        (void)write_all(STDERR_FILENO, "dockdist-init rank: no command\n");
        return 2;
    }
    auto environment = Environment::own();
    name_ranks(environment);
    const int rank = number_of(environment, "RANK");
    const int local_rank = number_of(environment, "LOCAL_RANK");
    auto streams = offer_streams(environment, rank, local_rank);

    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGCONT, SIGALRM};
    const auto signal_fd = take_signals(signals);
    const pid_t own = ::getpid();
    const pid_t child = signal_fd ? ::fork() : -1;
    if (child < 0) {
        (void)write_all(STDERR_FILENO,
                        "dockdist-init rank: " + system_error("cannot start the rank", errno).message + "\n");
        return 126;
    }
    if (child == 0) {
        ::setpgid(0, 0); // each signal reaches the rank once, also when the launcher signals its group
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != own) {
            ::_exit(137);
        }
        reset_signals();
        if (streams.supervisor.open()) {
            ::dup2(streams.out.write.get(), STDOUT_FILENO);
            ::dup2(streams.err.write.get(), STDERR_FILENO);
        }
        ::_exit(exec_program(argv, environment));
    }
    streams.out = {};
    streams.err = {};
    const auto status = wait_for(child, signal_fd->get());
    if (streams.supervisor.open()) {
        (void)send_rank_message(streams.supervisor.get(), {.kind = RankMessage::Kind::ended,
                                                           .rank = rank,
                                                           .local_rank = local_rank,
                                                           .code = status.code,
                                                           .signal = status.signal});
    }
    return die_as(status);
}

} // namespace dockdist::node

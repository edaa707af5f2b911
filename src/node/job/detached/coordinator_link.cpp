#include "node/job/detached/coordinator_link.hpp"

#include "core/exit_codes.hpp"
#include "core/number.hpp"
#include "node/job/job_store.hpp"
#include "node/session/job_part.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/program.hpp"
#include "node/system/unix_socket.hpp"
#include "wire/succession.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t first_dial_pause_ms = 100;
constexpr std::int64_t longest_dial_pause_ms = 2000;
constexpr std::int64_t settled_ms = 10000;
constexpr std::size_t kept_ssh_words = 1024;

[[noreturn]] void run_ssh(const std::vector<std::string>& argv, const Account& account, int stream,
                          int errors) {
    reset_signals();
    ::setsid();
    ::dup2(stream, STDIN_FILENO);
    ::dup2(stream, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    if (const auto became = become(account); !became) {
        (void)write_all(STDERR_FILENO, became.error().message);
        ::_exit(exit_codes::cannot_start);
    }
    auto environment = clean_environment();
    environment.set("HOME", account.home);
    environment.set(wire::job_mark, helper_mark);
    (void)::chdir("/");
    ::_exit(exec_path(argv.front(), argv, environment));
}

} // namespace

CoordinatorLink::CoordinatorLink(Loop& loop, Account account, std::function<void(Fd)> on_dialled)
    : loop_(loop), account_(std::move(account)), on_dialled_(std::move(on_dialled)),
      last_words_(loop, kept_ssh_words) {}

CoordinatorLink::~CoordinatorLink() {
    loop_.cancel(timer_);
}

void CoordinatorLink::dial(Target target) {
    hang_up();
    target_ = std::move(target);
    pause_ms_ = 0;
    timer_ = loop_.after(0, [this] { dial(); });
}

void CoordinatorLink::hang_up() {
    loop_.cancel(timer_);
}

void CoordinatorLink::dial() {
    std::array<int, 2> ends{-1, -1};
    auto errors = make_pipe();
    if (!errors || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return ended();
    }
    Fd own(ends[0]);
    const Fd other(ends[1]);
    dialled_at_ms_ = loop_.now_ms();
    const std::vector<std::string> argv{paths().ssh,
                                        "-F",
                                        paths().ssh_config,
                                        "-T",
                                        "-o",
                                        "ConnectionAttempts=1",
                                        target_.node,
                                        paths().own + " job link " + target_.job + " " +
                                            std::to_string(target_.part) + " " +
                                            std::to_string(target_.term)};
    const pid_t child = ::fork();
    if (child == 0) {
        run_ssh(argv, account_, other.get(), errors->write.get());
    }
    if (child < 0) {
        return ended();
    }
    set_nonblocking(own.get());
    last_words_.listen(std::move(errors->read));
    on_dialled_(std::move(own));
}

void CoordinatorLink::ended() {
    pause_ms_ = loop_.now_ms() - dialled_at_ms_ > settled_ms
                    ? first_dial_pause_ms
                    : std::clamp(pause_ms_ * 2, first_dial_pause_ms, longest_dial_pause_ms);
    loop_.cancel(timer_);
    timer_ = loop_.after(pause_ms_, [this] { dial(); });
}

int run_coordinator_end(const std::string& job, const std::string& part, const std::string& term) {
    const auto number = whole_number<int>(part);
    const auto term_number = whole_number<std::int64_t>(term);
    if (!wire::is_job_id(job) || !number || *number < 0 || !term_number) {
        (void)write_all(STDERR_FILENO, "usage: dockdist-init job link JOB PART TERM\n");
        return 2;
    }
    const auto coordinator = connect_unix(member_socket(job), SOCK_STREAM);
    if (!coordinator) {
        if (is_folder(scratch_folder(job))) {
            (void)write_all(STDERR_FILENO,
                            "the job's coordinator does not answer: " + coordinator.error().message + "\n");
            return 1;
        }
        (void)write_all(STDOUT_FILENO, wire::job_command_line({.type = wire::JobCommand::Type::over}));
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);
    const wire::LinkGreeting greeting{.part = static_cast<std::size_t>(*number), .term = *term_number};
    if (!write_all(coordinator->get(), wire::link_greeting(greeting))) {
        return 1;
    }
    std::array<pollfd, 2> ready{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                pollfd{.fd = coordinator->get(), .events = POLLIN, .revents = 0}};
    std::array<char, 16384> buffer{};
    while (true) {
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
            return 1;
        }
        for (std::size_t i = 0; i < ready.size(); ++i) {
            if (ready.at(i).revents == 0) {
                continue;
            }
            const auto count = ::read(ready.at(i).fd, buffer.data(), buffer.size());
            if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
                continue;
            }
            if (count <= 0 || !write_all(i == 0 ? coordinator->get() : STDOUT_FILENO,
                                         std::string_view(buffer.data(), static_cast<std::size_t>(count)))) {
                return 0;
            }
        }
    }
}

} // namespace dockdist::node

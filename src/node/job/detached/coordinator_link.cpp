#include "node/job/detached/coordinator_link.hpp"

#include "node/job/job_store.hpp"
#include "node/session/job_part.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/fifo_door.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"
#include "shared/wire/succession.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t first_dial_pause_ms = 100;
constexpr std::int64_t longest_dial_pause_ms = 2000;
constexpr std::int64_t settled_ms = 10000;
constexpr std::size_t kept_ssh_words = 1024;

[[noreturn]] void run_ssh(const std::vector<std::string>& argv, const Account& account, int input, int output,
                          int errors) {
    reset_signals();
    ::setsid();
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
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

// Until either side ends. What the coordinator does not take waits here, and what comes then waits in ssh.
int carry_lines(int from_coordinator, int to_coordinator) {
    std::array<char, 16384> buffer{};
    std::string unsent;
    while (true) {
        std::array<pollfd, 3> ready{
            pollfd{.fd = unsent.empty() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
            pollfd{.fd = from_coordinator, .events = POLLIN, .revents = 0},
            pollfd{.fd = unsent.empty() ? -1 : to_coordinator, .events = POLLOUT, .revents = 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
            return 1;
        }
        if (ready[0].revents != 0) {
            const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
                return 0;
            }
            unsent.assign(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
        if (!unsent.empty()) {
            const auto count = ::write(to_coordinator, unsent.data(), unsent.size());
            unsent.erase(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
        if (ready[1].revents != 0) {
            const auto count = ::read(from_coordinator, buffer.data(), buffer.size());
            if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN) ||
                !write_all(STDOUT_FILENO,
                           {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))})) {
                return 0;
            }
        }
    }
}

} // namespace

CoordinatorLink::CoordinatorLink(Loop& loop, Account account, std::function<void(Pipe)> on_dialled)
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
    // No socket, which its user's other processes might send descriptors through (node/system/fifo_door.hpp).
    auto to_ssh = make_pipe();
    auto from_ssh = make_pipe();
    auto errors = make_pipe();
    if (!to_ssh || !from_ssh || !errors) {
        return ended();
    }
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
        run_ssh(argv, account_, to_ssh->read.get(), from_ssh->write.get(), errors->write.get());
    }
    if (child < 0) {
        return ended();
    }
    spare_helper(child);
    set_nonblocking(from_ssh->read.get());
    set_nonblocking(to_ssh->write.get());
    last_words_.listen(std::move(errors->read));
    on_dialled_({.read = std::move(from_ssh->read), .write = std::move(to_ssh->write)});
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
    ::signal(SIGPIPE, SIG_IGN);
    auto coordinator = Knock::at(member_door(job), scratch_folder(job), "link", KnockWith::words);
    if (!coordinator) {
        if (is_folder(scratch_folder(job))) {
            (void)write_all(STDERR_FILENO,
                            "the job's coordinator does not answer: " + coordinator.error().message + "\n");
            return 1;
        }
        (void)write_all(STDOUT_FILENO, wire::job_command_line({.type = wire::JobCommand::Type::over}));
        return 0;
    }
    const wire::LinkGreeting greeting{.part = static_cast<std::size_t>(*number), .term = *term_number};
    if (!coordinator->await_heard() || !coordinator->write(wire::link_greeting(greeting))) {
        return 1;
    }
    return carry_lines(coordinator->from(), coordinator->to());
}

} // namespace dockdist::node

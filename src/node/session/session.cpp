#include "node/session/session.hpp"

#include "node/session/proxies.hpp"
#include "node/session/take_members.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

int run_words(const std::string& command, Environment& environment) {
    const auto words = split_words(command);
    if (!words) {
        return end_with("this image has no shell, and the command needs one: " + printable(command),
                        exit_codes::not_found);
    }
    return words->empty() ? 0 : exec_program(*words, environment);
}

// ssh does not end the remote command when the connection goes. That would leave ranks behind of a job, or of
// a launch by hand, so this process stays beside the command: when sshd's side closes, everything below here
// ends; but not what people have set free of it, where it is no job's, nor the ranks of a job that has a part
// here: its supervisor ends them.
int run_watched(const Account& account, const std::string& command, Environment& environment, bool has_part) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
    const auto signal_fd = take_signals(signals);
    const pid_t child = signal_fd ? ::fork() : -1;
    if (child < 0) {
        return exec_command(account, command, environment);
    }
    if (child == 0) {
        reset_signals();
        ::_exit(exec_command(account, command, environment));
    }
    bool hung_up = false;
    while (!hung_up) {
        std::array<pollfd, 2> ready{pollfd{.fd = signal_fd->get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = STDOUT_FILENO, .events = 0, .revents = 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
            break;
        }
        hung_up = (ready[1].revents & (POLLERR | POLLHUP)) != 0;
        signalfd_siginfo info{}; // who ends a job or a terminal tells the command itself
        while (::read(signal_fd->get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        }
        int status = 0;
        for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            if (pid == child) {
                const auto end = exit_status(status);
                if (end.signal != 0) {
                    reset_signals();
                    ::kill(::getpid(), end.signal);
                }
                return end.code;
            }
        }
    }
    ProcessScope scope{.mark = {}, .root = ::getpid()};
    if (!environment.get(wire::job_mark)) {
        scope.spared = find_set_free(scope.root, child);
    } else if (has_part) {
        scope.spared = find_gated(scope);
    }
    (void)end_processes(scope, hangup_grace_ms);
    return 255;
}

} // namespace

int end_with(const std::string& message, int code) {
    (void)write_all(STDERR_FILENO, "dockdist: " + message + "\n");
    return code;
}

void enter_workdir(const Account& account) {
    for (const auto& folder : {recorded_workdir(), account.home, std::string("/")}) {
        if (::chdir(folder.c_str()) == 0) {
            return;
        }
    }
}

int exec_command(const Account& account, const std::string& command, Environment& environment) {
    raise_memlock_limit();
    if (command == paths().sftp_server) {
        auto clean = environment;
        remove_loader_variables(clean);
        return exec_path(command, {command}, clean);
    }
    if (account.shell == paths().own) {
        return command.empty() ? end_with("this image has no shell; name a command", exit_codes::not_found)
                               : run_words(command, environment);
    }
    const bool keep = !command.empty() && can_keep_output(account.shell) && ::isatty(STDOUT_FILENO) == 0 &&
                      ::dup2(STDOUT_FILENO, kept_output) >= 0 && ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    return exec_path(account.shell, shell_argv(account.shell, command, keep), environment);
}

int run_session() {
    const auto from_sshd = Environment::own();
    const auto command = from_sshd.get("SSH_ORIGINAL_COMMAND").value_or("");
    if (command == take_members_command()) {
        return take_members();
    }
    const auto account = account_of(::geteuid(), ::getegid(), from_sshd.get("USER").value_or(""),
                                    read_file_or_empty(paths().passwd), read_file_or_empty(paths().group));
    std::optional<JobPart> part;
    if (auto loaded = load_part(from_sshd.get(wire::job_mark).value_or(""))) {
        part = std::move(*loaded);
    }
    auto environment = session_environment(recorded_environment(), from_sshd, account, part);
    spare_peers(environment, known_peers);
    enter_workdir(account);
    return run_watched(account, command, environment, part.has_value());
}

int run_as_shell(const std::vector<std::string>& arguments) {
    if (arguments.size() != 2 || arguments[0] != "-c") {
        return end_with("this image has no shell; dockdist-init stands in for `-c COMMAND` only",
                        exit_codes::not_found);
    }
    auto environment = Environment::own();
    return run_words(arguments[1], environment);
}

} // namespace dockdist::node

#include "node/session/with_environment.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "gpu/units.hpp"
#include "node/gpus/session_units.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

struct Entry {
    Environment environment = recorded_environment();
    Account account = recorded_account();
    std::string workdir{};
    std::optional<std::string> gpus{};
    std::string owner{};
    std::vector<std::string> command{}; // empty: the shell
};

// What is wrong with it, as an exit code; 0: nothing.
int read_option(Entry& entry, const std::string& option, const std::string& value) {
    if (option == "--user") {
        std::string error;
        entry.account = named_account(value, error);
        if (!error.empty()) {
            return end_with(error, exit_codes::cannot_start);
        }
    } else if (option == "--workdir") {
        entry.workdir = value;
    } else if (option == "--gpus") {
        entry.gpus = value;
    } else if (option == "--owner") {
        entry.owner = value;
    } else if (option == "--env" && value.find('=') != std::string::npos) {
        const auto equals = value.find('=');
        entry.environment.set(value.substr(0, equals), value.substr(equals + 1));
    } else {
        return end_with("with-environment: unknown option " + printable(option), 2);
    }
    return 0;
}

int read_options(Entry& entry, const std::vector<std::string>& arguments) {
    std::size_t next = 0;
    for (; next < arguments.size() && arguments[next].starts_with("--"); next += 2) {
        if (arguments[next] == "--") {
            ++next;
            break;
        }
        if (next + 1 == arguments.size()) {
            return end_with(arguments[next] + " needs a value", 2);
        }
        if (const int code = read_option(entry, arguments[next], arguments[next + 1]); code != 0) {
            return code;
        }
    }
    entry.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(std::min(next, arguments.size())),
                         arguments.end());
    return 0;
}

int enter(Entry& entry) {
    if (entry.workdir.empty()) {
        enter_workdir(entry.account);
    } else if (const auto entered = enter_folder(entry.workdir); !entered) {
        return end_with(entered.error().message, exit_codes::cannot_start);
    }
    return entry.command.empty() ? exec_command(entry.account, "", entry.environment)
                                 : exec_program(entry.command, entry.environment);
}

int become_and_enter(Entry& entry) {
    raise_memlock_limit();
    if (const auto became = become(entry.account); !became) {
        return end_with(became.error().message, exit_codes::cannot_start);
    }
    return enter(entry);
}

int wait_beside(pid_t child, const Fd& signals) {
    while (true) {
        pollfd ready{.fd = signals.get(), .events = POLLIN, .revents = 0};
        (void)::poll(&ready, 1, -1);
        signalfd_siginfo info{};
        while (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            // A terminal tells the command itself.
            if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP) {
                ::kill(child, static_cast<int>(info.ssi_signo));
            }
        }
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) {
            return exit_status(status).code;
        }
    }
}

// The units are held by this process, which stays root's: the command could give them back, or lock others.
int run_with_units(Entry& entry) {
    auto reserved =
        reserve_for_session(*entry.gpus, entry.owner, entry.environment.get(cuda_devices_variable));
    if (!reserved) {
        return end_with(to_text(reserved.error()), exit_codes::cannot_start);
    }
    if (!reserved->visible.empty()) {
        entry.environment.set(cuda_devices_variable, reserved->visible);
    }
    constexpr std::array watched{SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
    const auto signals = take_signals(watched);
    const pid_t own = ::getpid();
    const pid_t child = signals ? ::fork() : -1;
    if (child < 0) {
        return end_with(system_error("cannot start a process", errno).message, exit_codes::cannot_start);
    }
    if (child == 0) {
        reset_signals();
        raise_memlock_limit();
        if (const auto became = become(entry.account); !became) {
            ::_exit(end_with(became.error().message, exit_codes::cannot_start));
        }
        ::prctl(PR_SET_PDEATHSIG, SIGHUP); // its units go with this process's parent
        ::_exit(::getppid() == own ? enter(entry) : exit_codes::cannot_start);
    }
    const int code = wait_beside(child, *signals);
    reserved->held.give_back();
    return code;
}

bool starts_a_shell(const std::vector<std::string>& command) {
    return command.empty() ||
           command.back().find("${SHELL") != std::string::npos; // what `dockdist ssh` sends
}

} // namespace

int run_with_environment(const std::vector<std::string>& arguments) {
    Entry entry;
    if (const int code = read_options(entry, arguments); code != 0) {
        return code;
    }
    const bool at_a_terminal = ::isatty(STDIN_FILENO) == 1;
    if (const auto terminal = Environment::own().get("TERM"); terminal && at_a_terminal) {
        entry.environment.set("TERM", *terminal);
    }
    apply_account(entry.environment, entry.account);
    if (entry.gpus) {
        return run_with_units(entry);
    }
    if (at_a_terminal && starts_a_shell(entry.command)) {
        if (const auto others = who_has_units(); !others.empty()) {
            (void)end_with(others, 0);
        }
    }
    return become_and_enter(entry);
}

} // namespace dockdist::node

#include "node/session/with_environment.hpp"

#include "node/gpus/session_units.hpp"
#include "node/session/batch_script.hpp"
#include "node/session/exec_session.hpp"
#include "node/session/proxies.hpp"
#include "node/session/session.hpp"
#include "node/system/gpus.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <csignal>
#include <cstddef>
#include <optional>
#include <sys/prctl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

struct Entry {
    Environment environment = recorded_environment();
    Account account = recorded_account();
    std::string workdir{};
    std::optional<std::string> gpus{};
    std::string owner{};
    std::optional<wire::SessionAsk> session{};
    std::string line{};                 // for the shell; empty: the shell asks for lines itself
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
    } else if (option == "--session") {
        auto ask = wire::parse_session_ask(value);
        if (!ask) {
            return end_with(to_text(ask.error()), 2);
        }
        entry.session = *ask;
    } else if (option == "--line") {
        entry.line = value;
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

// The account's shell, where the environment names no other that is there.
int enter_shell(Entry& entry) {
    const auto named = entry.environment.get("SHELL").value_or("");
    if (named.starts_with('/') && may_run(named)) {
        entry.account.shell = named;
    }
    return exec_command(entry.account, entry.line, entry.environment);
}

int enter(Entry& entry) {
    if (entry.workdir.empty()) {
        enter_workdir(entry.account);
    } else if (const auto entered = enter_folder(entry.workdir); !entered) {
        return end_with(entered.error().message, exit_codes::cannot_start);
    }
    return entry.command.empty() ? enter_shell(entry)
                                 : exec_program(as_batch(std::move(entry.command)), entry.environment);
}

int become_and_enter(Entry& entry) {
    raise_memlock_limit();
    if (const auto became = become(entry.account); !became) {
        return end_with(became.error().message, exit_codes::cannot_start);
    }
    return enter(entry);
}

// This process stays beside the command, as root: it holds the units, which the command could give back, and
// ends the command with its client.
int run_beside(Entry& entry) {
    Loop loop;
    ExecSession session(loop, entry.session);
    SessionUnits reserved;
    if (entry.gpus) {
        auto turn = reserve_for_session(loop, *entry.gpus, entry.owner, entry.environment);
        if (session.given_up()) {
            return exit_codes::interrupted;
        }
        if (!turn) {
            return end_with(to_text(turn.error()), exit_codes::cannot_start);
        }
        reserved = std::move(*turn);
        if (!reserved.visible.empty()) {
            show_gpus(entry.environment, reserved.visible);
        }
    }
    const pid_t own = ::getpid();
    const int code = session.run({entry.account.uid, entry.account.gid}, [&entry, own] {
        raise_memlock_limit();
        if (const auto became = become(entry.account); !became) {
            return end_with(became.error().message, exit_codes::cannot_start);
        }
        ::prctl(PR_SET_PDEATHSIG, SIGHUP); // its units go with this process's parent
        return ::getppid() == own ? enter(entry) : exit_codes::cannot_start;
    });
    reserved.held.give_back();
    return code;
}

} // namespace

int run_with_environment(const std::vector<std::string>& arguments) {
    Entry entry;
    if (const int code = read_options(entry, arguments); code != 0) {
        return code;
    }
    const bool at_a_terminal =
        entry.session ? entry.session->terminal.has_value() : ::isatty(STDIN_FILENO) == 1;
    if (const auto terminal = Environment::own().get("TERM"); terminal && at_a_terminal) {
        entry.environment.set("TERM", *terminal);
    }
    take_proxies(entry.environment, Environment::own()); // of the client, beside the container's own
    spare_peers(entry.environment, known_peers);
    apply_account(entry.environment, entry.account);
    const bool shell = entry.command.empty() && entry.line.empty();
    if (!entry.gpus && at_a_terminal && shell) {
        if (const auto others = who_has_units(); !others.empty()) {
            (void)end_with(others, 0);
        }
    }
    return entry.gpus || entry.session ? run_beside(entry) : become_and_enter(entry);
}

} // namespace dockdist::node

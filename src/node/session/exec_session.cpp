#include "node/session/exec_session.hpp"

#include "node/session/session.hpp"
#include "node/system/process.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

// So much input is kept for a command that takes none, so that what the client says behind it is heard.
constexpr std::size_t most_stdin = 16U << 20U;
constexpr std::size_t most_output = 64U << 10U;
constexpr std::size_t most_last_output = 1U << 20U; // no kernel keeps as much of a terminal's
constexpr char control_c = 3;

// Its reader may be gone, and full is what it left; and the command has it, too, and may fill it or change
// its flags at any moment.
void say_if_it_fits(const std::string& words) {
    const auto line = "dockdist: " + words + "\n";
    if (const auto own = reopen(STDERR_FILENO, O_WRONLY); own.open()) {
        (void)::write(own.get(), line.data(), line.size());
    }
}

} // namespace

ExecSession::ExecSession(Loop& loop, std::optional<wire::SessionAsk> ask)
    : loop_(loop), ask_(ask), input_ended_(ask && !ask->input) {
    if (ask_) {
        last_heard_ms_ = loop_.now_ms();
        loop_.watch(STDIN_FILENO, POLLIN, [this](short happened) { read_client(happened); });
        watch_lease();
    }
}

ExecSession::~ExecSession() {
    loop_.cancel(lease_);
    loop_.cancel(reap_);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, to_command_.get(), terminal_.own.get()}) {
        loop_.forget(fd);
    }
}

void ExecSession::watch_lease() {
    if (ask_->lease_ms == 0 || client_gone_) {
        return;
    }
    const auto left = (held_ ? loop_.now_ms() : last_heard_ms_) + ask_->lease_ms - loop_.now_ms();
    if (left <= 0) {
        return client_is_gone("nothing was heard of the client for " + std::to_string(ask_->lease_ms / 1000) +
                              " s: the session ends");
    }
    lease_ = loop_.after(left, [this] { watch_lease(); });
}

// `happened` without POLLIN: the other side is closed, and what it wrote has been read or will not be.
void ExecSession::read_client(short happened) {
    std::array<char, wire::max_session_payload> buffer{};
    const auto count = (happened & POLLIN) != 0 ? ::read(STDIN_FILENO, buffer.data(), buffer.size()) : 0;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count <= 0) {
        return client_is_gone("");
    }
    last_heard_ms_ = loop_.now_ms();
    decoder_.feed({buffer.data(), static_cast<std::size_t>(count)});
    while (!client_gone_) {
        auto frame = decoder_.next();
        if (!frame) {
            return client_is_gone(frame.error().message);
        }
        if (!*frame) {
            break;
        }
        take(std::move(**frame));
    }
    write_input();
}

void ExecSession::take(wire::SessionFrame frame) {
    switch (frame.kind) {
    case wire::SessionFrame::Kind::input:
        if (ask_->terminal && child_ == 0 && frame.input.find(control_c) != std::string::npos) {
            return client_is_gone("");
        }
        input_.feed(frame.input);
        return;
    case wire::SessionFrame::Kind::end:
        input_ended_ = true;
        return;
    case wire::SessionFrame::Kind::window:
        if (ask_->terminal) {
            ask_->terminal = frame.window;
            if (terminal_.own.open()) {
                set_window(terminal_.own.get(), frame.window.rows, frame.window.columns);
            }
        }
        return;
    case wire::SessionFrame::Kind::ping:
        return;
    case wire::SessionFrame::Kind::quit:
        return client_is_gone("");
    }
}

void ExecSession::write_input() {
    const int fd = terminal_.own.open() ? terminal_.own.get() : to_command_.get();
    bool full = child_ == 0;
    while (!full && !input_.view().empty()) {
        const auto bytes = input_.view();
        const auto count =
            fd < 0 ? static_cast<ssize_t>(bytes.size()) : ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        full = count < 0 && errno == EAGAIN;
        if (!full) { // a command that has closed its stdin wants none
            input_.take(count < 0 ? bytes.size() : static_cast<std::size_t>(count));
        }
    }
    if (terminal_.own.open()) {
        loop_.want(fd,
                   static_cast<short>((output_.size() < most_output ? POLLIN : 0) | (full ? POLLOUT : 0)));
    } else if (to_command_.open() && input_ended_ && input_.view().empty() && child_ != 0) {
        loop_.forget(fd);
        to_command_.reset();
    } else if (to_command_.open()) {
        loop_.want(fd, full ? POLLOUT : 0);
    }
    if (const bool hold = input_.view().size() > most_stdin; hold != held_) {
        held_ = hold;
        last_heard_ms_ = loop_.now_ms();
        loop_.want(STDIN_FILENO, hold ? 0 : POLLIN);
    }
}

// What is there, until so much waits for the client.
void ExecSession::read_terminal(std::size_t most) {
    std::array<char, 32768> buffer{};
    while (output_.size() < most) {
        const auto count = ::read(terminal_.own.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            break;
        }
        if (count <= 0) {
            return close_terminal();
        }
        output_.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

void ExecSession::close_terminal() {
    loop_.forget(terminal_.own.get());
    terminal_.own.reset();
}

void ExecSession::write_output() {
    std::size_t written = client_gone_ ? output_.size() : 0;
    while (written < output_.size()) {
        const auto count = ::write(STDOUT_FILENO, output_.data() + written, output_.size() - written);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            if (errno != EAGAIN) {
                output_.clear();
                return client_is_gone("");
            }
            break;
        }
        written += static_cast<std::size_t>(count);
    }
    output_.erase(0, written);
    loop_.want(STDOUT_FILENO, output_.empty() ? 0 : POLLOUT);
    write_input();
    if (command_ended_ && output_.empty()) {
        loop_.stop();
    }
}

void ExecSession::on_signal(int signals) {
    signalfd_siginfo info{};
    for (int i = 0; i < most_signals && ::read(signals, &info, sizeof info) > 0; ++i) {
        // A terminal, and who ends the whole session, tell the command themselves.
        if ((info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP) && !command_ended_) {
            ::kill(child_, static_cast<int>(info.ssi_signo));
        }
    }
    reap();
}

void ExecSession::reap() {
    loop_.cancel(reap_);
    const bool more = reap_children([this](pid_t pid, int status) {
        if (pid == child_) {
            code_ = exit_status(status).code;
            command_ended_ = true;
        }
    });
    if (more) {
        reap_ = loop_.after(0, [this] { reap(); });
    }
    if (killer_) {
        killer_->look();
    } else if (command_ended_) {
        command_ended();
    }
}

// What it has left behind goes on, as after a login, and may still write; its last words are the client's,
// however slowly that takes them.
void ExecSession::command_ended() {
    read_last_of_terminal();
    write_output();
}

void ExecSession::read_last_of_terminal() {
    if (terminal_.own.open()) {
        read_terminal(output_.size() + most_last_output);
        close_terminal();
    }
}

void ExecSession::client_is_gone(const std::string& why) {
    if (client_gone_) {
        return;
    }
    client_gone_ = true;
    loop_.cancel(lease_);
    loop_.forget(STDIN_FILENO);
    loop_.forget(STDOUT_FILENO);
    if (child_ == 0 || command_ended_) {
        return loop_.stop();
    }
    if (ask_->lease_ms == 0) {
        input_ended_ = true;
        output_.clear();
        return write_input();
    }
    if (!why.empty()) {
        say_if_it_fits(why);
    }
    end_all();
}

// A terminal is closed first: the shell in it does not hear TERM, and writes its history at a hangup.
void ExecSession::end_all() {
    auto set_free = find_set_free(::getpid(), child_);
    close_terminal();
    killer_ = std::make_unique<ProcessKiller>(
        loop_, ProcessScope{.mark = {}, .root = ::getpid(), .spared = std::move(set_free)},
        [this](const std::vector<pid_t>&) { loop_.after(0, [this] { loop_.stop(); }); });
    killer_->begin(hangup_grace_ms);
}

Status ExecSession::make_streams(Owner owner) {
    if (ask_->terminal) {
        auto terminal = open_terminal(owner);
        TRY(terminal);
        terminal_ = std::move(*terminal);
        set_window(terminal_.own.get(), ask_->terminal->rows, ask_->terminal->columns);
        return ok;
    }
    auto pipe = make_pipe();
    TRY(pipe);
    to_command_ = std::move(pipe->write);
    from_client_ = std::move(pipe->read);
    set_nonblocking(to_command_.get());
    return ok;
}

void ExecSession::become_command(const std::function<int()>& command) {
    reset_signals();
    if (terminal_.other.open()) {
        if (const auto entered = enter_terminal(terminal_.other.get()); !entered) {
            ::_exit(end_with(entered.error().message, exit_codes::cannot_start));
        }
    } else if (ask_) {
        ::setsid();
        ::dup2(from_client_.get(), STDIN_FILENO);
    }
    ::_exit(command());
}

void ExecSession::watch_streams() {
    if (terminal_.own.open()) {
        set_nonblocking(STDOUT_FILENO);
        loop_.watch(STDOUT_FILENO, 0, [this](short happened) {
            (happened & POLLERR) != 0 ? client_is_gone("") : write_output();
        });
        loop_.watch(terminal_.own.get(), POLLIN, [this](short happened) {
            if ((happened & POLLHUP) != 0) { // nobody else has it, for now: all that was left
                read_last_of_terminal();
            } else if ((happened & POLLIN) != 0) {
                read_terminal(most_output);
            }
            write_output();
        });
    } else if (to_command_.open()) {
        loop_.watch(to_command_.get(), 0, [this](short happened) {
            if ((happened & POLLERR) != 0) { // the command has closed its stdin
                loop_.forget(to_command_.get());
                to_command_.reset();
            }
            write_input();
        });
    }
    if (ask_) {
        write_input(); // what came while the command waited for its turn
    }
}

int ExecSession::run(Owner owner, const std::function<int()>& command) {
    constexpr std::array watched{SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
    if (ask_) {
        if (const auto made = make_streams(owner); !made) {
            return end_with(made.error().message, exit_codes::cannot_start);
        }
        ::prctl(PR_SET_CHILD_SUBREAPER, 1); // what loses its parent comes to us, and is found
    }
    ::signal(SIGPIPE, SIG_IGN);
    const auto signals = take_signals(watched);
    child_ = signals ? ::fork() : -1;
    if (child_ < 0) {
        return end_with(system_error("cannot start a process", errno).message, exit_codes::cannot_start);
    }
    if (child_ == 0) {
        become_command(command);
    }
    from_client_.reset();
    terminal_.other.reset();
    loop_.watch(signals->get(), POLLIN, [&](short) { on_signal(signals->get()); });
    watch_streams();
    loop_.run();
    loop_.forget(signals->get());
    return command_ended_ ? code_ : exit_codes::by_signal(SIGTERM);
}

} // namespace dockdist::node

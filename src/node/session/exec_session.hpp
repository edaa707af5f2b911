// The process beside a command that a client has started by `exec` or `ssh`: shared/wire/exec_session.hpp,
// the node's side.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/pseudo_terminal.hpp"
#include "shared/wire/exec_session.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

class ExecSession {
public:
    // Hears the client from now on, on stdin, while `loop` runs. No ask: there is no such client, the command
    // has this process's own streams, and lives as long as it likes.
    ExecSession(Loop& loop, std::optional<wire::SessionAsk> ask);
    ~ExecSession();
    ExecSession(const ExecSession&) = delete;
    ExecSession& operator=(const ExecSession&) = delete;

    // The client has left, or has typed Ctrl-C, before there was a command. The loop was stopped then.
    bool given_up() const { return client_gone_ && child_ == 0; }

    // `command` becomes the command, in a child, whose terminal, if it has one, is `owner`'s; what it returns
    // is an exit code. When the client is gone, everything below here ends but what people have set free of
    // it. The code is the command's, when it has ended by itself.
    int run(Owner owner, const std::function<int()>& command);

private:
    Status make_streams(Owner owner);
    [[noreturn]] void become_command(const std::function<int()>& command);
    void read_client(short happened);
    void take(wire::SessionFrame frame);
    void write_input();
    void watch_streams();
    void read_terminal(std::size_t most);
    void read_last_of_terminal();
    void close_terminal();
    void write_output();
    void watch_lease();
    void on_signal(int signals);
    void reap();
    void command_ended();
    void client_is_gone(const std::string& why);
    void end_all();

    Loop& loop_;
    std::optional<wire::SessionAsk> ask_;
    wire::SessionFrameDecoder decoder_{};
    wire::UnreadBytes input_{}; // for the command
    std::string output_{};      // of its terminal
    Fd to_command_{};           // its stdin, where it has no terminal
    Fd from_client_{};          // the other end of that
    PseudoTerminal terminal_{};
    std::unique_ptr<ProcessKiller> killer_{};
    Loop::Timer lease_ = 0, reap_ = 0;
    std::int64_t last_heard_ms_ = 0;
    pid_t child_ = 0;
    int code_ = 0;
    bool input_ended_ = false;
    bool held_ = false; // the client's words wait until the command takes its input
    bool client_gone_ = false;
    bool command_ended_ = false;
};

} // namespace dockdist::node

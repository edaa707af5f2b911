// The person's terminal, during an interactive exec.
#pragma once

#include "client/async/interrupts.hpp"
#include "client/async/task.hpp"
#include "client/container/container_engine.hpp"
#include "client/report/event.hpp"
#include "shared/wire/exec_session.hpp"

#include <optional>
#include <string>
#include <termios.h>

namespace dockdist {

// stdin in raw mode while it lives; does nothing where stdin is no terminal.
class RawTerminal {
public:
    RawTerminal();
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

private:
    std::optional<termios> saved_{};
};

// Whether stdin and stdout both are terminals.
bool is_interactive();

// Whether stdin is known to bring nothing (more), without reading it: closed, /dev/null, a file at its end, a
// pipe that nobody writes to. A frame that says so later may meet a command that is over, and Podman then
// complains on stderr of bytes that nobody has read.
bool input_has_ended();

wire::WindowSize window_size(); // of the terminal on stdout

// Runs `config.command` (with what holds it, shared/wire/exec_session.hpp) in a container, with this
// process's stdin, stdout and stderr; where `ask` has a terminal, it gets this one's size from now on. An
// interrupt ends what it has started there, and is waited for; a second one leaves that to the node. With a
// lease of 0 the first one leaves it running. The exit code is the command's own, or 130 after an interrupt.
struct HeldCommand {
    ExecConfig config{};
    wire::SessionAsk ask{};
    std::string where{}; // the node's name, for what is said of an interrupt
};
Task<Result<int>> exec_with_stdio(ContainerEngine& engine, ContainerId id, HeldCommand command,
                                  Interrupts& interrupts, Reporter& reporter);

} // namespace dockdist

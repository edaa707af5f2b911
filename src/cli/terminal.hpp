// The person's terminal, during an interactive exec.
#pragma once

#include "async/task.hpp"
#include "container/container_engine.hpp"

#include <optional>
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

// Runs a command in a container with this process's stdin, stdout and stderr, in a pty when `tty`. The exit
// code is the command's own.
Task<Result<int>> exec_with_stdio(ContainerEngine& engine, ContainerId id, ExecConfig config);

} // namespace dockdist

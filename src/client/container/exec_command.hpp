// Uses of an exec that need nothing but the interface: a command to its end, and lines of a conversation.
#pragma once

#include "client/container/started_exec.hpp"

#include <optional>
#include <string>

namespace dockdist {

// create_exec and start_exec: two round trips. The engine outlives what was started.
Task<Result<std::unique_ptr<StartedExec>>> start_command(ContainerEngine& engine, ContainerId id,
                                                         ExecConfig config);

struct CommandResult {
    int exit_code = 0;
    std::string out{}, err{};
};

// Runs a command in a container to its end. Output beyond `limit` bytes of each stream is dropped.
// Errors: what the engine says; a command that cannot be started is a result with exit code 126 or 127.
Task<Result<CommandResult>> run_command(ContainerEngine& engine, ContainerId id, ExecConfig config,
                                        std::size_t limit = 1U << 20U);

// An exec whose stdout is read line by line.
class ExecLines {
public:
    explicit ExecLines(std::unique_ptr<ExecStream> stream) : stream_(std::move(stream)) {}

    // The next line without its '\n'; empty at the end of the stream. A line above 4 MiB is a protocol error.
    Task<Result<std::optional<std::string>>> next_line();
    Task<Status> write(std::string bytes);
    Task<Status> write_borrowed(std::string_view bytes); // which the caller keeps until then
    Task<Status> close_input();
    // What stderr said so far, at most 8 KiB.
    const std::string& err() const { return err_; }

private:
    std::unique_ptr<ExecStream> stream_;
    std::string buffer_{}, err_{};
    bool ended_ = false;
};

} // namespace dockdist

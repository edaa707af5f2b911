#include "client/container/exec_command.hpp"

#include "shared/core/exit_codes.hpp"

namespace dockdist {
namespace {

void append(std::string& text, const std::string& bytes, std::size_t limit) {
    text.append(bytes, 0, limit - std::min(limit, text.size()));
}

} // namespace

Task<Result<std::unique_ptr<StartedExec>>> start_command(ContainerEngine& engine, ContainerId id,
                                                         ExecConfig config) {
    auto exec = std::make_unique<StartedExec>(engine, std::move(id), std::move(config));
    CO_TRY(co_await exec->start());
    co_return exec;
}

Task<Result<CommandResult>> run_command(ContainerEngine& engine, ContainerId id, ExecConfig config,
                                        std::size_t limit) {
    config.stdin_open = false;
    auto exec = co_await start_command(engine, id, std::move(config));
    CO_TRY(exec);
    CommandResult result;
    while (true) {
        auto chunk = co_await (*exec)->read();
        CO_TRY(chunk);
        if (chunk->end) {
            break;
        }
        append(chunk->stream == StdStream::err ? result.err : result.out, chunk->bytes, limit);
    }
    const auto started = (*exec)->id();
    exec->reset(); // the connection is free for the inspect
    const auto state = co_await engine.inspect_exec(started);
    CO_TRY(state);
    result.exit_code = state->exit_code.value_or(exit_codes::cannot_start);
    co_return result;
}

Task<Result<std::optional<std::string>>> ExecLines::next_line() {
    constexpr std::size_t longest_line = 4U << 20U;
    constexpr std::size_t longest_err = 8U << 10U;
    std::size_t searched = 0;
    while (true) {
        const auto end = buffer_.find('\n', searched);
        if (end != std::string::npos) {
            std::string line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            co_return std::optional(std::move(line));
        }
        searched = buffer_.size();
        if (searched > longest_line) {
            co_return Error{ErrorKind::protocol, "", "a line of more than 4 MiB came from the node", ""};
        }
        if (ended_) {
            co_return std::optional<std::string>{};
        }
        auto chunk = co_await stream_->read();
        CO_TRY(chunk);
        if (chunk->end) {
            ended_ = true;
        } else if (chunk->stream == StdStream::err) {
            append(err_, chunk->bytes, longest_err);
        } else {
            buffer_ += chunk->bytes;
        }
    }
}

Task<Status> ExecLines::write_borrowed(std::string_view bytes) {
    return stream_->write(bytes);
}

Task<Status> ExecLines::write(std::string bytes) {
    co_return co_await stream_->write(bytes);
}

Task<Status> ExecLines::close_input() {
    co_return co_await stream_->close_stdin();
}

} // namespace dockdist

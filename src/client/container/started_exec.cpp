#include "client/container/started_exec.hpp"

#include "client/async/pause.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace dockdist {
namespace {

constexpr int most_starts = 3;
constexpr std::chrono::milliseconds pause_between{200};
constexpr int podman_cannot_start = 125;
constexpr std::size_t longest_words = 2U << 10U;
constexpr std::size_t longest_input = 1U << 20U; // kept to be said again; with more, it is started once

} // namespace

bool runtime_died(std::string_view text) {
    static constexpr std::string_view beginning = "exec failed: unable to start container process: ";
    static constexpr std::array deaths{
        std::string_view("can't get final child's PID from pipe"),
        std::string_view("error executing setns process"),
        std::string_view("init-p: broken pipe"),
        std::string_view("init-p: connection reset by peer"),
    };
    const auto at = text.find(beginning);
    return at != std::string_view::npos && std::ranges::any_of(deaths, [&](auto death) {
               return text.find(death, at + beginning.size()) != std::string_view::npos;
           });
}

Task<Status> StartedExec::start_once() {
    ++starts_;
    auto exec = co_await engine_.create_exec(container_, config_);
    CO_TRY(exec);
    auto stream = co_await engine_.start_exec(*exec);
    CO_TRY(stream);
    id_ = std::move(*exec);
    stream_ = std::move(*stream);
    co_return ok;
}

Task<Status> StartedExec::start() {
    while (true) {
        auto started = co_await start_once();
        if (started || !runtime_died(started.error().message)) {
            co_return started;
        }
        if (starts_ == most_starts) {
            co_return died(started.error().message);
        }
        co_await pause_for(pause_between);
    }
}

// What is written meanwhile is kept behind what was written before, and said with it.
Task<Status> StartedExec::start_again() {
    replaying_ = true;
    co_await pause_for(pause_between);
    if (auto started = co_await start(); !started) {
        co_return started;
    }
    for (std::size_t said = 0; said < input_.size();) {
        const auto bytes = input_.substr(said);
        said += bytes.size();
        if (!co_await stream_->write(bytes)) {
            break; // the reader hears why
        }
    }
    if (input_ended_) {
        (void)co_await stream_->close_stdin();
    }
    replaying_ = false;
    co_return ok;
}

void StartedExec::settle() {
    settled_ = true;
    input_ = {};
}

Error StartedExec::died(std::string_view text) const {
    return {ErrorKind::engine, engine_.host().str(), std::string(text.substr(0, text.find_first_of("\r\n"))),
            "the host may be short of memory or of processes: see `free` and `dmesg` there"};
}

// Docker says 126, Podman 125.
Task<bool> StartedExec::never_began() {
    const auto state = co_await engine_.inspect_exec(id_);
    co_return state && !state->running && state->pid == 0 &&
        (state->exit_code == exit_codes::cannot_start || state->exit_code == podman_cannot_start);
}

// Reads until it has begun for sure, into chunks_. Words on a runtime that died are all that comes before
// the end.
Task<Status> StartedExec::hear_beginning() {
    while (!settled_) {
        std::string heard;
        do {
            auto chunk = co_await stream_->read();
            CO_TRY(chunk);
            heard += chunk->bytes;
            chunks_.push_back(std::move(*chunk));
        } while (!settled_ && !chunks_.back().end && runtime_died(heard) && heard.size() <= longest_words);
        if (settled_ || !chunks_.back().end || !runtime_died(heard) || !co_await never_began()) {
            co_return ok;
        }
        chunks_.clear();
        auto started = starts_ == most_starts ? Status(died(heard)) : co_await start_again();
        if (!started) {
            co_return started;
        }
    }
    co_return ok;
}

Task<Result<ExecStream::Chunk>> StartedExec::read() {
    return settled_ && chunks_.empty() ? stream_->read() : first_chunk();
}

Task<Result<ExecStream::Chunk>> StartedExec::first_chunk() {
    if (!settled_) {
        const auto heard = co_await hear_beginning();
        settle();
        if (!heard && chunks_.empty()) {
            co_return heard.error();
        }
    }
    if (chunks_.empty()) { // more was written than is kept
        co_return co_await stream_->read();
    }
    auto chunk = std::move(chunks_.front());
    chunks_.pop_front();
    co_return chunk;
}

Task<Status> StartedExec::write(std::span<const char> bytes) {
    return settled_ ? stream_->write(bytes) : first_write(bytes);
}

Task<Status> StartedExec::first_write(std::span<const char> bytes) {
    while (replaying_ && input_.size() > longest_input) {
        co_await pause_for(pause_between);
    }
    if (!settled_) {
        if (!replaying_ && input_.size() + bytes.size() > longest_input) {
            settle();
        } else {
            input_.append(bytes.data(), bytes.size());
        }
    }
    if (replaying_) {
        co_return ok;
    }
    const auto stream = stream_;
    const auto written = co_await stream->write(bytes);
    co_return settled_ ? written : Status(ok); // the reader hears why, or starts it again
}

Task<Status> StartedExec::close_stdin() {
    input_ended_ = true;
    if (replaying_) {
        co_return ok;
    }
    const auto stream = stream_;
    const auto closed = co_await stream->close_stdin();
    co_return settled_ ? closed : Status(ok);
}

} // namespace dockdist

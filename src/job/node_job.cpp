#include "job/node_job.hpp"

#include "async/with_timeout.hpp"
#include "core/text.hpp"
#include "engine/exec_command.hpp"
#include "wire/layout.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

namespace dockdist {

NodeJob::NodeJob(ContainerEngine& engine, ReadyNode node, wire::JobRequest request, Handlers handlers)
    : engine_(engine), node_(std::move(node)), request_(std::move(request)), handlers_(std::move(handlers)) {}

Task<Status> NodeJob::open(std::vector<std::string> arguments, std::string first_line) {
    ExecConfig config;
    config.command = std::move(arguments);
    config.user = "0:0";
    auto exec = co_await start_command(engine_, node_.id, std::move(config));
    if (!exec) {
        co_return exec.error();
    }
    // A stop that was wanted while no stream was open goes first. Nobody else writes before stream_ is set.
    const auto lines = first_line + (stop_ ? wire::job_command_line(*stop_) : "");
    if (!lines.empty()) {
        if (auto written = co_await exec->stream->write(lines); !written) {
            co_return written;
        }
    }
    stream_ = std::move(exec->stream);
    co_return ok;
}

Task<Result<wire::JobResult>> NodeJob::run() {
    auto opened = co_await open({layout::init, "job", "start"}, nlohmann::json(request_).dump() + "\n");
    if (!opened) {
        ended_ = true;
        co_return opened.error();
    }
    co_return co_await follow_to_the_end();
}

Task<Result<wire::JobResult>> NodeJob::follow(bool to_the_end) {
    started_ = true;
    auto opened = co_await open({layout::init, "job", "follow", follow_argument(to_the_end)}, "");
    if (!opened) {
        ended_ = true;
        co_return opened.error();
    }
    if (to_the_end) {
        co_return co_await follow_to_the_end();
    }
    auto result = co_await read_frames();
    ended_ = true;
    if (!result) {
        co_return result.error();
    }
    co_return (*result).value_or(wire::JobResult{});
}

std::string NodeJob::follow_argument(bool to_the_end) const {
    return nlohmann::json{{"job", request_.job}, {"position", position_}, {"follow", to_the_end}}.dump();
}

Task<Result<wire::JobResult>> NodeJob::follow_to_the_end() {
    using namespace std::chrono_literals;
    const auto patience =
        std::max<std::chrono::milliseconds>(std::chrono::milliseconds(request_.lease_ms), 10s);
    auto last_contact = std::chrono::steady_clock::now();
    boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor);
    while (true) {
        auto result = co_await read_frames();
        if (result && *result) {
            ended_ = true;
            co_return std::move(**result);
        }
        stream_.reset();
        Error broken = result ? Error{ErrorKind::node, "",
                                      "the node ended its side of the stream" +
                                          (said_.empty() ? "" : ": " + printable(said_)),
                                      ""}
                              : result.error();
        // Nothing to resume where the job never began, and where the node itself says what is wrong.
        if (!started_ || broken.kind == ErrorKind::job || broken.kind == ErrorKind::protocol) {
            ended_ = true;
            co_return broken;
        }
        Status opened = broken;
        while (!opened && std::chrono::steady_clock::now() - last_contact < patience) {
            opened = co_await open({layout::init, "job", "follow", follow_argument(true)}, "");
            if (!opened &&
                (opened.error().kind == ErrorKind::not_found || opened.error().kind == ErrorKind::conflict)) {
                broken = {ErrorKind::node, "", "the node's container is gone or does not run",
                          "see `dockdist status`"};
                break;
            }
            if (!opened) {
                pause.expires_after(500ms);
                co_await pause.async_wait(boost::asio::use_awaitable);
            }
        }
        if (!opened) {
            ended_ = true;
            co_return broken;
        }
        said_.clear();
        if (result) { // a stream that ended cleanly again and again must not spin
            pause.expires_after(100ms);
            co_await pause.async_wait(boost::asio::use_awaitable);
        } else {
            last_contact = std::chrono::steady_clock::now();
        }
    }
}

Task<Result<std::optional<wire::JobResult>>> NodeJob::read_frames() {
    constexpr std::size_t longest_err = 4096;
    wire::FrameDecoder decoder;
    const auto stream = stream_;
    while (true) {
        auto chunk = co_await stream->read();
        if (!chunk) {
            co_return chunk.error();
        }
        if (chunk->end) {
            co_return std::optional<wire::JobResult>{};
        }
        if (chunk->stream == StdStream::err) {
            said_.append(chunk->bytes, 0, longest_err - std::min(longest_err, said_.size()));
            continue;
        }
        decoder.feed(chunk->bytes);
        while (true) {
            auto frame = decoder.next();
            if (!frame) {
                co_return frame.error();
            }
            if (!*frame) {
                break;
            }
            auto handled = handle(std::move(**frame));
            if (!handled || *handled) {
                co_return handled;
            }
        }
        handlers_.batch_ended();
    }
}

Result<std::optional<wire::JobResult>> NodeJob::handle(wire::Frame frame) {
    auto going_on = std::optional<wire::JobResult>{};
    if (frame.kind == wire::Frame::Kind::output) {
        position_ = frame.position + wire::frame_header_size + frame.payload.size();
        handlers_.output(frame.rank, frame.stream == 2 ? StdStream::err : StdStream::out, frame.payload);
        return going_on;
    }
    if (frame.kind != wire::Frame::Kind::control) {
        return going_on;
    }
    auto event = wire::parse_job_event(frame.payload);
    if (!event) {
        return event.error();
    }
    switch (event->type) {
    case wire::JobEvent::Type::started:
        started_ = true;
        return going_on;
    case wire::JobEvent::Type::rank_failed:
        handlers_.rank_failed(event->failure);
        return going_on;
    case wire::JobEvent::Type::exited:
        return std::optional(std::move(event->result));
    case wire::JobEvent::Type::error:
        return Error{ErrorKind::job, event->error.where, event->error.message, event->error.hint};
    }
    return going_on;
}

Task<void> NodeJob::send(wire::JobCommand command) {
    if (command.type == wire::JobCommand::Type::stop) {
        stop_ = command;
    }
    const auto stream = stream_;
    if (!stream || ended_) {
        co_return;
    }
    // What cannot be written shows itself to the reader, which takes the stream up again.
    co_await stream->write(wire::job_command_line(command));
}

} // namespace dockdist

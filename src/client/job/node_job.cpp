#include "client/job/node_job.hpp"

#include "client/async/pause.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

constexpr std::chrono::seconds least_silence{10}; // however short the lease
// Longer than a node gives to a question.
constexpr std::chrono::seconds opening_limit{45};
constexpr int most_garbled = 5;
constexpr int most_openings = 3;
constexpr int most_starts = 10; // that nothing came of, one after another
constexpr std::chrono::milliseconds retry_pause{500};

} // namespace

Error gone_node(ErrorKind kind) {
    return {kind, "", "the node's container is gone or does not run", "see `dockdist status`"};
}

std::chrono::milliseconds longest_silence(std::chrono::milliseconds lease) {
    return std::max<std::chrono::milliseconds>(lease, least_silence);
}

NodeJob::NodeJob(ContainerEngine& engine, ReadyNode node, wire::JobOpening opening)
    : engine_(engine), node_(std::move(node)), opening_(std::move(opening)) {
    query_.job = opening_.job;
}

Task<Status> NodeJob::connect(std::vector<std::string> arguments, std::string first_lines) {
    ExecConfig config;
    config.command = std::move(arguments);
    config.user = "0:0";
    auto exec = co_await start_command(engine_, node_.id, std::move(config));
    CO_TRY(exec);
    // The last order goes first: it may not have arrived. Nobody else writes before stream_ is set.
    const auto lines = first_lines + (order_ ? wire::job_command_line(*order_) : "");
    if (!lines.empty()) {
        if (auto written = co_await (*exec)->write(lines); !written) {
            co_return written;
        }
    }
    stream_ = std::move(*exec);
    last_told_ = LeaseClock::now();
    last_ping_ = {};
    decoder_ = {};
    said_.clear();
    co_return ok;
}

// The exec may be there although its answer was lost: all that it does ends with its stream, until it has
// been told to start.
Task<Result<wire::LaunchFacts>> NodeJob::open() {
    for (int tries = 1;; ++tries) {
        auto facts = co_await ask();
        const bool cut = !facts && (facts.error().kind == ErrorKind::unreachable ||
                                    (said_.empty() && facts.error() == end_of_stream()));
        if (!cut || tries == most_openings) {
            if (facts) {
                opening_.questions.clear(); // they have been answered
                opening_.same_ports = facts->ports;
            }
            co_return facts;
        }
        stream_.reset();
    }
}

Task<Result<wire::LaunchFacts>> NodeJob::ask() {
    auto connected = co_await connect({layout::init, "job", "start"}, nlohmann::json(opening_).dump() + "\n");
    CO_TRY(connected);
    co_return co_await wait_for_facts();
}

Task<Result<wire::LaunchFacts>> NodeJob::wait_for_facts() {
    co_return co_await with_timeout(
        read_facts(), opening_limit,
        Error{ErrorKind::timeout, "", "the node does not say whether it can start the job",
              "see what its programs wait for: `dockdist exec " + node_.name.str() + " -- ps -ef`"});
}

Task<Result<wire::LaunchFacts>> NodeJob::read_facts() {
    while (true) {
        const auto frame = co_await read_frame();
        CO_TRY(frame);
        if (!*frame) {
            co_return end_of_stream();
        }
        if ((*frame)->kind == wire::Frame::Kind::control) {
            auto event = wire::parse_job_event((*frame)->payload);
            CO_TRY(event);
            if (event->type == wire::JobEvent::Type::error) {
                co_return event->error;
            }
            if (event->type == wire::JobEvent::Type::prepared) {
                if (event->facts.ports.size() < static_cast<std::size_t>(opening_.ports) ||
                    event->facts.answers.size() < opening_.questions.size()) {
                    co_return Error{
                        ErrorKind::protocol, "",
                        fmt::format("it was asked for {} ports and {} answers, and gave {} and {}",
                                    opening_.ports, opening_.questions.size(), event->facts.ports.size(),
                                    event->facts.answers.size()),
                        "its dockdist-init is of another version, or somebody has replaced it: `dockdist up` "
                        "shows what has to be recreated"};
                }
                co_return std::move(event->facts);
            }
        }
    }
}

Task<Result<wire::JobResult>> NodeJob::run(wire::JobStart start, Handlers handlers) {
    handlers_ = std::move(handlers);
    start_line_ = nlohmann::json(start).dump() + "\n";
    last_told_ = LeaseClock::now();
    // What cannot be written shows itself to the reader, which takes the stream up again.
    (void)co_await stream_->write(start_line_);
    co_return co_await follow_to_the_end();
}

Task<Result<wire::JobResult>> NodeJob::follow(wire::JobQuery query, Handlers handlers) {
    query_ = std::move(query);
    handlers_ = std::move(handlers);
    begun_ = true;
    auto connected = co_await connect({layout::init, "job", "follow", follow_argument()}, "");
    if (!connected) {
        ended_ = true;
        co_return connected.error();
    }
    if (query_.to_the_end) {
        co_return co_await follow_to_the_end();
    }
    auto result = co_await read_frames();
    ended_ = true;
    CO_TRY(result);
    co_return (*result).value_or(wire::JobResult{});
}

Error NodeJob::end_of_stream() const {
    return {ErrorKind::node, "",
            "the node ended its side of the stream" + (said_.empty() ? "" : ": " + printable(said_)), ""};
}

std::string NodeJob::follow_argument() const {
    auto query = query_;
    if (position_ > 0) { // what was asked for has begun to come
        query.position = position_;
        query.tail.reset();
        query.since_ms.reset();
    }
    return wire::job_query(query);
}

// Where nothing was heard of the start, the same start: a node that has begun it only goes on telling.
Task<Status> NodeJob::reconnect() {
    if (begun_) {
        co_return co_await connect({layout::init, "job", "follow", follow_argument()}, "");
    }
    co_return co_await connect({layout::init, "job", "start"},
                               nlohmann::json(opening_).dump() + "\n" + start_line_);
}

Task<Result<wire::JobResult>> NodeJob::follow_to_the_end() {
    using namespace std::chrono_literals;
    const auto patience = longest_silence(std::chrono::milliseconds(opening_.lease_ms));
    last_heard_ = LeaseClock::now();
    int garbled = 0; // streams that were taken up again and held something else
    int starts = 0;  // said again
    bool again = false;
    while (true) {
        auto result = co_await read_frames();
        if (result && *result) {
            ended_ = true;
            co_return std::move(**result);
        }
        stream_.reset();
        Error broken = result ? end_of_stream() : result.error();
        // An engine whose container is just ending writes its own words into a new exec's stream.
        const bool engine_speaks = broken.kind == ErrorKind::protocol && again && ++garbled <= most_garbled;
        // The exec that we lost is about to start the part, or to go.
        const bool meets_itself = broken.kind == ErrorKind::conflict && again;
        const bool node_speaks = broken.kind == ErrorKind::job || (!begun_ && result && !said_.empty()) ||
                                 (broken.kind == ErrorKind::conflict && !again);
        // Nothing to resume where the node itself says what is wrong.
        part_gone_ = broken.kind == ErrorKind::job && !begun_; // it could not be started
        if (given_up_ || node_speaks || (broken.kind == ErrorKind::protocol && !engine_speaks) ||
            (!begun_ && ++starts > most_starts)) {
            ended_ = true;
            co_return broken;
        }
        if (engine_speaks || meets_itself) {
            co_await pause_for(retry_pause);
        }
        Status opened = broken;
        while (!opened && LeaseClock::now() - last_heard_ < patience) {
            opened = co_await reconnect();
            if (!opened &&
                (opened.error().kind == ErrorKind::not_found || opened.error().kind == ErrorKind::conflict)) {
                part_gone_ = co_await container_is_still();
                broken = gone_node();
                break;
            }
            if (!opened && opened.error().kind == ErrorKind::config) {
                break; // the allocation of Slurm that the node was of has ended: no way leads there again
            }
            if (!opened) {
                co_await pause_for(retry_pause);
            }
        }
        if (!opened) {
            ended_ = true;
            co_return broken;
        }
        again = true;
        if (result) { // a stream that ended cleanly again and again must not spin
            co_await pause_for(100ms);
        } else {
            last_heard_ = LeaseClock::now();
        }
    }
}

// In two waits: a client that stood still itself finds the time of the first one over, whatever has come.
Task<Result<ExecStream::Chunk>> NodeJob::read_chunk(ExecStream& stream) {
    if (handlers_.silence.count() <= 0) {
        co_return co_await stream.read();
    }
    const Error quiet{ErrorKind::timeout, "",
                      fmt::format("nothing was heard of it for {}", format_duration(handlers_.silence)),
                      "see what it is doing: `dockdist status`, `dockdist check`"};
    for (int wait = 0; wait < 2; ++wait) {
        if (LeaseClock::now() >= give_up_at_) {
            given_up_ = true;
            co_return Error{ErrorKind::timeout, "",
                            "it was told to end its part, and has not confirmed that it did",
                            "`dockdist jobs` shows whether it still runs; `dockdist stop` ends it"};
        }
        auto chunk = co_await with_timeout(stream.read(), handlers_.silence / 2, quiet);
        if (chunk || chunk.error() != quiet) {
            co_return chunk;
        }
    }
    given_up_ = true;
    co_return quiet;
}

Task<Result<std::optional<wire::Frame>>> NodeJob::read_frame() {
    constexpr std::size_t longest_err = 4096;
    const auto stream = stream_;
    while (true) {
        auto frame = decoder_.next();
        if (!frame || *frame) {
            co_return frame;
        }
        if (handlers_.batch_ended) {
            handlers_.batch_ended();
        }
        if (handlers_.room) {
            co_await handlers_.room();
        }
        listens_ = true;
        auto chunk = co_await read_chunk(*stream);
        listens_ = false;
        CO_TRY(chunk);
        if (chunk->end) {
            co_return std::optional<wire::Frame>{};
        }
        last_heard_ = LeaseClock::now();
        if (chunk->stream == StdStream::err) {
            said_.append(chunk->bytes, 0, longest_err - std::min(longest_err, said_.size()));
        } else {
            decoder_.feed(chunk->bytes);
        }
    }
}

Task<Result<std::optional<wire::JobResult>>> NodeJob::read_frames() {
    while (true) {
        const auto frame = co_await read_frame();
        CO_TRY(frame);
        if (!*frame) {
            co_return std::optional<wire::JobResult>{};
        }
        auto handled = handle(**frame);
        if (!handled || *handled) {
            handlers_.batch_ended();
            co_return handled;
        }
    }
}

Result<std::optional<wire::JobResult>> NodeJob::handle(const wire::Frame& frame) {
    auto going_on = std::optional<wire::JobResult>{};
    if (frame.kind == wire::Frame::Kind::output) {
        // A node's log may come before its events: with much output, `started` is not the first to be heard.
        begun_ = true;
        position_ = frame.position + wire::frame_header_size + frame.payload.size();
        handlers_.output(frame.rank, frame.stream == 2 ? StdStream::err : StdStream::out, frame.payload);
        return going_on;
    }
    if (frame.kind == wire::Frame::Kind::pong) {
        position_ = std::max(position_, frame.position);
        return going_on;
    }
    auto event = wire::parse_job_event(frame.payload);
    TRY(event);
    switch (event->type) {
    case wire::JobEvent::Type::prepared:
    case wire::JobEvent::Type::turn: // of before the start
        return going_on;
    case wire::JobEvent::Type::started:
    case wire::JobEvent::Type::rank_failed:
    case wire::JobEvent::Type::rank_done:
    case wire::JobEvent::Type::silent:
    case wire::JobEvent::Type::speaks:
    case wire::JobEvent::Type::idle:
    case wire::JobEvent::Type::busy:
    case wire::JobEvent::Type::reported:
    case wire::JobEvent::Type::still:
    case wire::JobEvent::Type::goes_on:
    case wire::JobEvent::Type::examined:
    case wire::JobEvent::Type::ranks_gone:
    case wire::JobEvent::Type::ready:
    case wire::JobEvent::Type::ended:
        begun_ = true;
        if (handlers_.event) {
            handlers_.event(*event);
        }
        return going_on;
    case wire::JobEvent::Type::detached:
        detached_ = true;
        return std::optional(wire::JobResult{});
    case wire::JobEvent::Type::exited:
        return std::optional(std::move(event->result));
    case wire::JobEvent::Type::error:
        return Error{event->error.kind == ErrorKind::conflict && !begun_ ? ErrorKind::conflict
                                                                         : ErrorKind::job,
                     event->error.where, event->error.message, event->error.hint};
    }
    return going_on;
}

Task<void> NodeJob::send(wire::JobCommand command) {
    using Type = wire::JobCommand::Type;
    if (command.type != Type::ping && command.type != Type::line && command.type != Type::take &&
        command.type != Type::look) {
        order_ = command;
    }
    const auto stream = stream_;
    if (!stream || ended_) {
        co_return;
    }
    if (command.type == Type::ping) {
        // A node that does not answer is told nothing more: it would be known later when its part has ended.
        if (begun_ && listens_ && last_ping_ > last_heard_) {
            co_return;
        }
        last_ping_ = LeaseClock::now();
    }
    last_told_ = LeaseClock::now();
    // What cannot be written shows itself to the reader, which takes the stream up again.
    co_await stream->write(wire::job_command_line(command));
}

} // namespace dockdist

// NodeJob's side of the wait for GPUs, between the opening and the start.
#include "client/async/pause.hpp"
#include "client/job/node_job.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto between_openings = 500ms;
// The exec that was lost holds the job's ports until its own lease is over, where nobody tells it that its
// stream has ended.
constexpr auto after_lease = 10s;

} // namespace

Task<Status> NodeJob::hear_turns(HearTurn hear) {
    handlers_ = {.silence = longest_silence(std::chrono::milliseconds(opening_.lease_ms))};
    last_heard_ = LeaseClock::now();
    while (true) {
        auto end = co_await read_turns(hear);
        if (end.kind == TurnsEnd::Kind::enough) {
            co_return ok;
        }
        if (given_up_ || end.kind == TurnsEnd::Kind::refused) {
            co_return std::move(end.error);
        }
        auto turn = co_await open_again(std::move(end.error));
        CO_TRY(turn);
        if (!hear(std::move(*turn), true)) {
            co_return ok;
        }
    }
}

Task<NodeJob::TurnsEnd> NodeJob::read_turns(const HearTurn& hear) {
    using Kind = TurnsEnd::Kind;
    while (true) {
        const auto frame = co_await read_frame();
        if (!frame) {
            co_return TurnsEnd{Kind::cut, frame.error()};
        }
        if (!*frame) { // words of its own: dockdist-init itself has failed
            co_return TurnsEnd{said_.empty() ? Kind::cut : Kind::refused, end_of_stream()};
        }
        if ((*frame)->kind != wire::Frame::Kind::control) {
            continue;
        }
        auto event = wire::parse_job_event((*frame)->payload);
        if (!event) {
            co_return TurnsEnd{Kind::refused, event.error()};
        }
        if (event->type == wire::JobEvent::Type::error) {
            co_return TurnsEnd{Kind::refused, std::move(event->error)};
        }
        if (event->type == wire::JobEvent::Type::turn && !hear(std::move(event->turn), false)) {
            co_return TurnsEnd{};
        }
    }
}

Task<Result<wire::GpuTurn>> NodeJob::open_again(Error broken) {
    const auto until =
        LeaseClock::now() + longest_silence(std::chrono::milliseconds(opening_.lease_ms)) + after_lease;
    while (LeaseClock::now() < until) {
        stream_.reset();
        const auto connected =
            co_await connect({layout::init, "job", "start"}, nlohmann::json(opening_).dump() + "\n");
        if (connected) {
            auto facts = co_await wait_for_facts();
            if (facts) {
                co_return std::move(facts->gpus);
            }
            const auto& error = facts.error();
            const bool cut = error.kind == ErrorKind::unreachable || error.kind == ErrorKind::conflict ||
                             (said_.empty() && error == end_of_stream());
            if (!cut) {
                co_return error;
            }
        } else if (connected.error().kind == ErrorKind::not_found ||
                   connected.error().kind == ErrorKind::conflict) {
            co_return gone_node();
        }
        co_await pause_for(between_openings);
    }
    co_return broken;
}

// The node ends with its stdin, and the reader finds the stream cut.
Task<void> NodeJob::open_anew(std::vector<wire::GpuHold> taken) {
    opening_.gpus.taken = std::move(taken);
    if (const auto stream = stream_) {
        (void)co_await stream->close_stdin();
    }
}

} // namespace dockdist

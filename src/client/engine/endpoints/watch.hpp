// For answers that may be silent for hours. Included by docker_engine.cpp alone.
#pragma once

#include "client/async/pause.hpp"
#include "client/engine/engine_calls.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

namespace dockdist::endpoints {
namespace {

// An engine may say nothing for hours, and so may the connection when the host is gone. In a silence the
// engine is asked for a sign of life; it is given up when two questions in a row have no answer. `heard`
// grows with all that moves.
Task<Error> watch_engine(Session session, std::string what, std::shared_ptr<std::uint64_t> heard) {
    for (int unanswered = 0;;) {
        const auto before = *heard;
        co_await pause_for(session->endpoint.limits.build_silence);
        if (*heard != before) {
            unanswered = 0;
            continue;
        }
        const auto alive = co_await session->negotiate(true);
        unanswered = alive ? 0 : unanswered + 1;
        if (unanswered == 2) {
            auto error = alive.error();
            error.message = fmt::format("{}: the engine sends nothing any more: {}", what, error.message);
            co_return error;
        }
    }
}

} // namespace
} // namespace dockdist::endpoints

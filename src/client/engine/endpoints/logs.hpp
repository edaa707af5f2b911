// What a container has written. Included by docker_engine.cpp alone.
#pragma once

#include "client/engine/endpoints/requests.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/stdio_stream.hpp"

namespace dockdist::endpoints {

class LogEndpoints : public virtual EngineCalls {
public:
    Task<Result<std::unique_ptr<LogStream>>> container_logs(ContainerId id, LogQuery query) override {
        const auto session = session_;
        const auto parameters = query_string({{"stdout", "1"},
                                              {"stderr", "1"},
                                              {"follow", query.follow ? "1" : ""},
                                              {"timestamps", query.timestamps ? "1" : ""},
                                              {"tail", query.tail < 0 ? "all" : std::to_string(query.tail)}});
        auto stream = co_await session->open(get(item("containers", id.str(), "/logs") + parameters),
                                             "read the log of container " + short_id(id.str()));
        CO_TRY(stream);
        co_return make_log_stream(std::move(*stream), session->endpoint.host);
    }

    Task<Result<std::string>> container_log_tail(ContainerId id, int lines) override {
        const auto session = session_;
        const auto parameters = query_string({{"stdout", "1"}, {"tail", std::to_string(lines)}});
        const auto answer = co_await session->call(get(item("containers", id.str(), "/logs") + parameters),
                                                   "read the log of container " + short_id(id.str()));
        CO_TRY(answer);
        StdioFrames frames;
        frames.feed(answer->body);
        std::string text;
        while (true) {
            const auto chunk = frames.next();
            if (!chunk) {
                co_return answer->body; // a container with a terminal has a log without frames
            }
            if (!*chunk) {
                co_return text;
            }
            text += (*chunk)->bytes;
        }
    }
};

} // namespace dockdist::endpoints

#include "engine/endpoints/endpoints.hpp"
#include "engine/endpoints/requests.hpp"
#include "engine/stdio_stream.hpp"

namespace dockdist::endpoints {

Task<Result<std::unique_ptr<LogStream>>> container_logs(Session session, ContainerId id, LogQuery query) {
    const auto parameters = query_string({{"stdout", "1"},
                                          {"stderr", "1"},
                                          {"follow", query.follow ? "1" : ""},
                                          {"timestamps", query.timestamps ? "1" : ""},
                                          {"tail", query.tail < 0 ? "all" : std::to_string(query.tail)}});
    auto stream = co_await session->open(get(item("containers", id.str(), "/logs") + parameters),
                                         "read the log of container " + short_id(id.str()));
    if (!stream) {
        co_return stream.error();
    }
    co_return make_log_stream(std::move(*stream), session->endpoint.host);
}

Task<Result<std::string>> container_log_tail(Session session, ContainerId id, int lines) {
    const auto parameters = query_string({{"stdout", "1"}, {"tail", std::to_string(lines)}});
    const auto answer = co_await session->call(get(item("containers", id.str(), "/logs") + parameters),
                                               "read the log of container " + short_id(id.str()));
    if (!answer) {
        co_return answer.error();
    }
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

} // namespace dockdist::endpoints

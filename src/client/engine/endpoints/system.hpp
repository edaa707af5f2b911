// The engine itself, its volumes and its events. Included by docker_engine.cpp alone.
#pragma once

#include "client/container/engine_words.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/json_decode.hpp"
#include "client/engine/json_encode.hpp"
#include "client/engine/line_stream.hpp"

#include <fmt/format.h>

namespace dockdist::endpoints {
namespace {

class DockerEventStream final : public EventStream {
public:
    DockerEventStream(std::unique_ptr<HttpStream> stream, HostName host, bool podman)
        : lines_(std::move(stream)), host_(std::move(host)), podman_(podman) {}

    Task<Result<EngineEvent>> next() override {
        auto line = co_await lines_.next();
        Result<EngineEvent> event =
            Error{ErrorKind::unreachable, "", "the engine ended the stream of events",
                  fmt::format("{} on that host may have been restarted", words_of(podman_).service)};
        if (!line) {
            event = line.error();
        } else if (*line) {
            event = decode_event(**line);
        }
        if (!event) {
            Error error = event.error();
            error.where = host_.str();
            co_return error;
        }
        co_return event;
    }

private:
    LineStream lines_;
    HostName host_;
    bool podman_;
};

} // namespace

class SystemEndpoints : public virtual EngineCalls {
public:
    Task<Result<ApiVersion>> ping() override {
        const auto session = session_;
        co_return co_await session->negotiate(true);
    }

    Task<Result<EngineInfo>> info() override {
        const auto session = session_;
        const auto answer = co_await session->call(get("/info"), "ask the engine about itself");
        CO_TRY(answer);
        const auto version = co_await session->negotiate();
        auto result = decoded(*session, decode_info(answer->body, version ? *version : ApiVersion{}));
        if (result) {
            result->podman = session->podman();
        }
        co_return result;
    }

    Task<Result<VolumeDetails>> inspect_volume(std::string name) override {
        const auto session = session_;
        const auto answer = co_await session->call(get(item("volumes", name)), "look at volume " + name);
        CO_TRY(answer);
        co_return decoded(*session, decode_volume(answer->body));
    }

    Task<Result<std::vector<VolumeDetails>>> list_volumes(std::vector<std::string> labels) override {
        const auto session = session_;
        const auto filters = encode_filters({{"label", std::move(labels)}});
        const auto answer =
            co_await session->call(get("/volumes" + query_string({{"filters", filters}})), "list volumes");
        CO_TRY(answer);
        co_return decoded(*session, decode_volume_list(answer->body));
    }

    Task<Result<VolumeDetails>> create_volume(std::string name, Labels labels) override {
        const auto session = session_;
        const auto answer = co_await session->call(post("/volumes/create", encode_volume(name, labels)),
                                                   "create volume " + name);
        CO_TRY(answer);
        co_return decoded(*session, decode_volume(answer->body));
    }

    Task<Status> remove_volume(std::string name) override {
        const auto session = session_;
        HttpRequest request;
        request.method = "DELETE";
        request.target = item("volumes", name);
        const auto answer = co_await session->call(std::move(request), "remove volume " + name, {404});
        CO_TRY(answer);
        co_return ok;
    }

    Task<Result<std::unique_ptr<EventStream>>> events(EventFilter filter) override {
        const auto session = session_;
        const auto filters =
            encode_filters({{"type", filter.types}, {"event", filter.actions}, {"label", filter.labels}});
        auto stream = co_await session->open(get("/events" + query_string({{"filters", filters}})),
                                             "follow the engine's events");
        CO_TRY(stream);
        co_return std::make_unique<DockerEventStream>(std::move(*stream), session->endpoint.host,
                                                      session->podman());
    }
};

} // namespace dockdist::endpoints

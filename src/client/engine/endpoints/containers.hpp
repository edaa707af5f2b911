// Containers, from their list to their end. Included by docker_engine.cpp alone.
#pragma once

#include "client/async/pause.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/json_decode.hpp"
#include "client/engine/json_encode.hpp"
#include "client/engine/stdio_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist::endpoints {

using namespace std::chrono_literals;

namespace {

Task<Result<ContainerDetails>> inspect_container_of(Session session, ContainerId id) {
    const auto answer = co_await session->call(get(item("containers", id.str(), "/json")),
                                               "look at container " + short_id(id.str()));
    CO_TRY(answer);
    co_return decoded(*session, decode_container(answer->body));
}

} // namespace

class ContainerEndpoints : public virtual EngineCalls {
public:
    Task<Result<std::vector<ContainerSummary>>> list_containers(ListQuery query) override {
        const auto session = session_;
        const auto parameters = query_string(
            {{"all", query.running_only ? "" : "1"}, {"filters", encode_filters({{"label", query.labels}})}});
        const auto answer = co_await session->call(get("/containers/json" + parameters), "list containers");
        CO_TRY(answer);
        co_return decoded(*session, decode_container_list(answer->body));
    }

    Task<Result<ContainerDetails>> inspect_container(ContainerId id) override {
        return inspect_container_of(session_, std::move(id));
    }

    Task<Result<ContainerDiff>> container_diff(ContainerId id) override {
        const auto session = session_;
        const auto what = "ask what container " + short_id(id.str()) + " has written";
        const auto changes = co_await session->call(get(item("containers", id.str(), "/changes")), what);
        CO_TRY(changes);
        const auto details =
            co_await session->call(get(item("containers", id.str(), "/json") + "?size=1"), what);
        CO_TRY(details);
        co_return decoded(*session, decode_diff(changes->body, details->body));
    }

    Task<Result<ContainerId>> create_container(std::string name, ContainerConfig config) override {
        const auto session = session_;
        const auto answer = co_await session->call(
            post("/containers/create" + query_string({{"name", name}, {"platform", config.platform}}),
                 encode_container(config)),
            "create container " + name);
        CO_TRY(answer);
        const auto id =
            decoded(*session, decode_id(answer->body, "the answer to the creation of a container"));
        CO_TRY(id);
        co_return ContainerId(*id);
    }

    Task<Status> start_container(ContainerId id) override {
        const auto session = session_;
        const auto answer = co_await session->call(post(item("containers", id.str(), "/start")),
                                                   "start container " + short_id(id.str()), {304});
        CO_TRY(answer);
        co_return ok;
    }

    Task<Result<std::unique_ptr<ExecStream>>> attach_container(ContainerId id) override {
        const auto session = session_;
        auto request =
            post(item("containers", id.str(), "/attach") +
                 query_string({{"stream", "1"}, {"stdin", "1"}, {"stdout", "1"}, {"stderr", "1"}}));
        request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "tcp"}};
        auto stream = co_await session->open(std::move(request), "attach to container " + short_id(id.str()));
        CO_TRY(stream);
        co_return make_exec_stream(std::move(*stream), session->endpoint.host);
    }

    Task<Status> stop_container(ContainerId id, std::chrono::seconds grace) override {
        const auto session = session_;
        const auto limit = session->endpoint.limits.call + grace;
        const auto target =
            item("containers", id.str(), "/stop") + query_string({{"t", std::to_string(grace.count())}});
        // Aside: the answer takes as long as the container does.
        const auto answer = co_await session->call_aside(post(target), "stop container " + short_id(id.str()),
                                                         {304}, CallLimits{limit});
        CO_TRY(answer);
        co_return ok;
    }

    Task<Status> rename_container(ContainerId id, std::string name) override {
        const auto session = session_;
        const auto answer = co_await session->call(
            post(item("containers", id.str(), "/rename") + query_string({{"name", std::move(name)}})),
            "rename container " + short_id(id.str()));
        CO_TRY(answer);
        co_return ok;
    }

    Task<Status> remove_container(ContainerId id) override {
        const auto session = session_;
        HttpRequest request;
        request.method = "DELETE";
        request.target = item("containers", id.str()) + query_string({{"force", "1"}, {"v", "1"}});
        const auto what = "remove container " + short_id(id.str());
        const auto answer = co_await session->call(std::move(request), what, {404});
        if (answer) {
            co_return ok;
        }
        if (answer.error().kind != ErrorKind::conflict ||
            answer.error().message.find("already in progress") == std::string::npos) {
            co_return answer.error();
        }
        // Somebody else is removing it. There is no call that waits for that on a container that does not
        // run.
        const auto give_up = std::chrono::steady_clock::now() + session->endpoint.limits.call;
        for (auto delay = 20ms; std::chrono::steady_clock::now() < give_up;
             delay = std::min(delay * 2, 500ms)) {
            const auto details = co_await inspect_container_of(session, id);
            if (!details) {
                if (details.error().kind == ErrorKind::not_found) {
                    co_return ok;
                }
                co_return details.error();
            }
            co_await pause_for(delay);
        }
        co_return session->located(
            {ErrorKind::timeout, "", what + ": its removal by somebody else does not finish", ""});
    }
};

} // namespace dockdist::endpoints

// Commands in a running container. Included by docker_engine.cpp alone.
#pragma once

#include "client/engine/endpoints/requests.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/json_decode.hpp"
#include "client/engine/json_encode.hpp"
#include "client/engine/stdio_stream.hpp"

namespace dockdist::endpoints {

class ExecEndpoints : public virtual EngineCalls {
public:
    Task<Result<ExecId>> create_exec(ContainerId id, ExecConfig config) override {
        const auto session = session_;
        const auto answer =
            co_await session->call(post(item("containers", id.str(), "/exec"), encode_exec(config)),
                                   "prepare a command in container " + short_id(id.str()));
        CO_TRY(answer);
        const auto exec = decoded(*session, decode_id(answer->body, "the answer to the creation of an exec"));
        CO_TRY(exec);
        co_return ExecId(*exec);
    }

    Task<Result<std::unique_ptr<ExecStream>>> start_exec(ExecId id) override {
        const auto session = session_;
        auto request = post(item("exec", id.str(), "/start"), R"({"Detach":false,"Tty":false})");
        request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "tcp"}};
        // open() has read the answer's header when it returns: bytes written to stdin before that would be
        // dropped.
        auto stream = co_await session->open(std::move(request), "start a command");
        CO_TRY(stream);
        co_return make_exec_stream(std::move(*stream), session->endpoint.host);
    }

    Task<Result<ExecState>> inspect_exec(ExecId id) override {
        const auto session = session_;
        const auto answer = co_await session->call(get(item("exec", id.str(), "/json")), "look at a command");
        CO_TRY(answer);
        co_return decoded(*session, decode_exec(answer->body));
    }
};

} // namespace dockdist::endpoints

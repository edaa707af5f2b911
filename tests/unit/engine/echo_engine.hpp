// An engine whose execs give back what they are told, and how a test talks to one.
#pragma once

#include "client/container/container_engine.hpp"
#include "fakes/stub_server.hpp"

#include <string>

namespace dockdist {

inline const std::string upgraded = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

// An exec echoes its stdin once that has ended, and that of "endless" says more than anybody reads; an upload
// is told its size, and so is what is built from.
inline Task<void> echo_engine(StubConnection connection) {
    while (const auto request = co_await connection.read_request()) {
        if (request->target == "/_ping") {
            const auto answer = ping_answer();
            co_await connection.send(request->method == "HEAD" ? answer.substr(0, answer.find("\r\n\r\n") + 4)
                                                               : answer);
        } else if (request->target.find("/archive") != std::string::npos) {
            const auto size = std::to_string(request->body.size());
            co_await connection.send(size == "0" ? http_answer(400, R"({"message":"nothing came"})")
                                                 : http_answer(200, size));
        } else if (request->target.find("/build?") != std::string::npos) {
            co_await connection.send(
                http_answer(200, "{\"aux\":{\"ID\":\"" + std::to_string(request->body.size()) + "\"}}\n"));
        } else if (request->target.find("/exec/endless") != std::string::npos) {
            co_await connection.send(upgraded);
            const auto frame = stdio_frame(1, std::string(64 * 1024, 'x'));
            for (int i = 0; i < 2000; ++i) {
                co_await connection.send(frame);
            }
        } else if (request->target.find("/exec/") != std::string::npos) {
            co_await connection.send(upgraded);
            std::string input;
            for (auto bytes = co_await connection.read_some(); !bytes.empty();
                 bytes = co_await connection.read_some()) {
                input += bytes;
            }
            co_await connection.send(stdio_frame(1, "got " + input));
            co_return;
        } else {
            co_await connection.send(http_answer(200, R"({"Name":"v"})"));
        }
    }
}

// What an exec answers to `input`.
inline Task<Result<std::string>> converse(ContainerEngine& engine, std::string input) {
    auto stream = co_await engine.start_exec(ExecId("e"));
    CO_TRY(stream);
    CO_TRY(co_await (*stream)->write(input));
    (void)co_await (*stream)->close_stdin();
    std::string output;
    while (true) {
        auto chunk = co_await (*stream)->read();
        CO_TRY(chunk);
        if (chunk->end) {
            co_return output;
        }
        output += chunk->bytes;
    }
}

} // namespace dockdist

// An engine behind a real sshd.
#pragma once

#include "engine/docker_engine.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/ssh_front.hpp"
#include "fakes/stub_server.hpp"

#include <doctest/doctest.h>

#include <regex>

namespace dockdist {

inline const std::string upgraded = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

// An exec echoes its stdin once that has ended; an upload is told its size, and so is what is built from; a
// log of "big" never ends.
inline Task<void> engine_script(StubConnection connection) {
    while (const auto request = co_await connection.read_request()) {
        if (request->target == "/_ping") {
            co_await connection.send(ping_answer());
        } else if (request->target.find("/archive") != std::string::npos) {
            const auto size = std::to_string(request->body.size());
            co_await connection.send(size == "0" ? http_answer(400, R"({"message":"nothing came"})")
                                                 : http_answer(200, size));
        } else if (request->target.find("/build?") != std::string::npos) {
            co_await connection.send(
                http_answer(200, "{\"aux\":{\"ID\":\"" + std::to_string(request->body.size()) + "\"}}\n"));
        } else if (request->target.find("/exec/endless") != std::string::npos) {
            co_await connection.send(upgraded);
            const std::string line(64 * 1024, 'x');
            for (int i = 0; i < 2000; ++i) {
                co_await connection.send(line);
            }
        } else if (request->target.find("/exec/") != std::string::npos) {
            co_await connection.send(upgraded);
            std::string input;
            for (auto bytes = co_await connection.read_some(); !bytes.empty();
                 bytes = co_await connection.read_some()) {
                input += bytes;
            }
            co_await connection.send("got " + input);
            co_return;
        } else {
            co_await connection.send(http_answer(200, R"({"Name":"v"})"));
        }
    }
}

struct BehindSsh {
    // `config` as SshFront takes it; FOLDER in it stands for this folder.
    explicit BehindSsh(const std::string& config = "")
        : front(io, folder, server.address(),
                std::regex_replace(config, std::regex("FOLDER"), folder.file(""))) {}

    std::unique_ptr<ContainerEngine> engine(const SshSettings& settings) {
        return make_docker_engine(io.get_executor(),
                                  {.host = HostName("a"), .address = front.address(), .ssh = settings});
    }
    std::unique_ptr<ContainerEngine> engine() { return engine(front.settings()); }

    Error refusal(const SshSettings& settings) {
        const auto result = run_task(io, engine(settings)->ping());
        REQUIRE_FALSE(result);
        CHECK(result.error().where == "a");
        CHECK(server.connections() == 0);
        return result.error();
    }

    TemporaryFolder folder{};
    boost::asio::io_context io{};
    StubServer server{io, engine_script};
    SshFront front;
};

// What an exec answers to `input`.
inline Task<Result<std::string>> converse(ContainerEngine& engine, std::string input) {
    auto stream = co_await engine.start_exec(ExecId("e"), true);
    if (!stream) {
        co_return stream.error();
    }
    if (const auto written = co_await (*stream)->write(input); !written) {
        co_return written.error();
    }
    (void)co_await (*stream)->close_stdin();
    std::string output;
    while (true) {
        auto chunk = co_await (*stream)->read();
        if (!chunk) {
            co_return chunk.error();
        }
        if (chunk->end) {
            co_return output;
        }
        output += chunk->bytes;
    }
}

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace dockdist

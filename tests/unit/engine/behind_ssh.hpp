// An engine behind a real sshd.
#pragma once

#include "echo_engine.hpp"
#include "engine/docker_engine.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/ssh_front.hpp"

#include <doctest/doctest.h>

#include <regex>

namespace dockdist {

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
    StubServer server{io, echo_engine};
    SshFront front;
};

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace dockdist

// A DockerEngine that speaks to a stub server.
#pragma once

#include "client/engine/docker_engine.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/stub_server.hpp"

#include <doctest/doctest.h>

namespace dockdist {

inline const ContainerId container_id(std::string(64, 'c'));

struct OverStub {
    explicit OverStub(StubServer::Script script, EngineLimits limits = {}) : server(io, std::move(script)) {
        engine = make_docker_engine(io.get_executor(), {HostName("a"), server.address(), {}, false, limits});
    }

    template <class T>
    T run(Task<T> task) {
        return run_task(io, std::move(task));
    }

    boost::asio::io_context io{};
    StubServer server;
    std::unique_ptr<ContainerEngine> engine{};
};

// A script that gives each request that is not a ping the same answer.
inline StubServer::Script always(std::string answer, bool sliced = false) {
    return StubServer::engine([answer](const StubRequest&) { return answer; }, "1.45", sliced);
}

inline const StubRequest& only(const OverStub& stub) {
    REQUIRE(stub.server.requests().size() == 1);
    return stub.server.requests().front();
}

} // namespace dockdist

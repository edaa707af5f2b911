// Which API version an engine is spoken to in, from 20.10 to 29, and how Podman is known.
#include "client/engine/engine_session.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace negotiation_test {

using namespace dockdist;

namespace {

std::string recorded(const std::string& name) {
    const std::ifstream file(std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/engine/recorded/" + name);
    REQUIRE(file);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Plays an engine's real answers to /_ping and GET /info.
StubServer::Script replay(std::string ping, std::string info) {
    return [ping, info](StubConnection connection) -> Task<void> {
        return [](std::string ping_bytes, std::string info_bytes, StubConnection with) -> Task<void> {
            while (const auto request = co_await with.read_request()) {
                co_await with.send(request->target == "/_ping" ? ping_bytes : http_answer(200, info_bytes));
            }
        }(ping, info, connection);
    };
}

EngineInfo info_of(const std::string& engine) {
    auto ping = recorded(engine + "/ping.http");
    ping += ping.ends_with("OK") ? "" : "OK"; // recorded with or without its body
    OverStub stub(replay(ping, recorded(engine + "/info.json")));
    const auto info = stub.run(stub.engine->info());
    REQUIRE(info);
    return *info;
}

// Answers as a real engine does that speaks `oldest` to `newest`, as minor versions of API 1.
StubServer::Script engine_of(int oldest, int newest) {
    const auto answer = [=](const StubRequest& request) {
        int minor = 0;
        const bool versioned = std::sscanf(request.target.c_str(), "/v1.%d/", &minor) == 1;
        if (!versioned || minor < oldest || minor > newest) {
            const auto* const word = minor > newest ? "new. Maximum" : "old. Minimum";
            return http_answer(
                400,
                fmt::format(R"({{"message":"client version 1.{} is too {} supported API version is 1.{}"}})",
                            minor, word, minor > newest ? newest : oldest));
        }
        return http_answer(200, "{}");
    };
    return StubServer::engine(answer, fmt::format("1.{}", newest));
}

} // namespace

TEST_CASE("every Docker from 20.10 to 29 is spoken to in the newest version that both know") {
    struct Engine {
        const char* version;
        int oldest, newest, spoken;
    };
    for (const auto& engine :
         {Engine{"20.10", 12, 41, 41}, Engine{"23.0", 12, 42, 42}, Engine{"24.0", 12, 43, 43},
          Engine{"25.0", 24, 44, 44}, Engine{"26.1", 24, 45, 45}, Engine{"27.5", 24, 47, 47},
          Engine{"28.5", 24, 51, 51}, Engine{"29.0", 44, 52, 51}, Engine{"29.3", 40, 54, 51}}) {
        CAPTURE(engine.version);
        OverStub stub(engine_of(engine.oldest, engine.newest));
        const auto info = stub.run(stub.engine->info());
        REQUIRE(info);
        CHECK(info->api == ApiVersion{1, engine.spoken});
        CHECK(stub.server.requests().front().line() == fmt::format("GET /v1.{}/info", engine.spoken));
    }
}

TEST_CASE("an engine whose oldest version is above all of ours says so, and the hint names ours") {
    OverStub stub(engine_of(52, 60));
    const auto error = stub.run(stub.engine->info()).error();
    CHECK(error.message ==
          "ask the engine about itself: client version 1.51 is too old. Minimum supported API version "
          "is 1.52");
    CHECK(error.hint ==
          "this engine is too old or too new for this dockdist; dockdist speaks API 1.40 to 1.51");
}

TEST_CASE("Podman is known by its answer to a ping") {
    for (const auto& [engine, version] :
         {std::pair{"podman-4.3", "4.3.1"}, std::pair{"podman-5.4", "5.4.2"}}) {
        CAPTURE(engine);
        const auto info = info_of(engine);
        CHECK(info.podman);
        CHECK(info.version == version);
        CHECK(info.api == ApiVersion{1, 41});
        CHECK(info.architecture == "amd64");
        CHECK_FALSE(info.rootless);
        CHECK_FALSE(info.system_time.empty());
        CHECK(info.cdi_spec_dirs.empty());
    }
    CHECK_FALSE(info_of("20.10").podman);
    CHECK_FALSE(info_of("26.1").podman);
}

TEST_CASE("Podman's own calls are made in the version of its own API") {
    OverStub stub(replay(recorded("podman-4.3/ping.http"), R"({"status":"done"})"));
    CHECK_FALSE(stub.engine->podman()); // nobody knows yet
    CHECK(stub.run(stub.engine->pull_image(ImageRef("127.0.0.1:4000/x:1"), "", "", {})));
    CHECK(stub.engine->podman());
    CHECK(stub.run(stub.engine->pull_image(ImageRef("x:1"), "", "", {})));
    REQUIRE(stub.server.requests().size() == 2); // beside the ping
    CHECK(stub.server.requests()[0].line() ==
          "POST /v4.3.1/libpod/images/pull?reference=127.0.0.1%3A4000%2Fx%3A1&tlsVerify=false");
    CHECK(stub.server.requests()[1].line() == "POST /v1.41/images/create?fromImage=x&tag=1");

    const auto told = [](const std::string& version) {
        return libpod_version_of({200, {{"Libpod-API-Version", version}}, ""});
    };
    CHECK(told("5.4.2") == "5.4.2");
    CHECK(told("5.5.0-dev") == "5.5.0");
    CHECK(told("") == "");
    for (const std::string odd : {"5", "5.4", "5.4.2/../x", "5.4.-2", "5.4.2.1", "a.b.c", "5.4.9999"}) {
        CAPTURE(odd);
        CHECK(told(odd) == "4.0.0");
    }
}

TEST_CASE("an authorization plugin that refuses even the ping is told as such") {
    OverStub stub(
        replay("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 62\r\n\r\n"
               R"({"message":"authorization denied by plugin opa: not for you"}
)",
               "{}"));
    CHECK(stub.run(stub.engine->ping()).error() ==
          Error{ErrorKind::engine, "a", "greet the engine: authorization denied by plugin opa: not for you",
                "ask the administrator of that host to let its authorization plugin opa pass this call: GET "
                "/_ping"});
}

} // namespace negotiation_test

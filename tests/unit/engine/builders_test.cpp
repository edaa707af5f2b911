// What an engine builds with: BuildKit, where it lets its session pass, or another builder.
#include "over_stub.hpp"

#include <doctest/doctest.h>

namespace builders_test {

using namespace dockdist;

namespace {

const std::string tar(5000, 't');

BuildConfig config_with_secret() {
    BuildConfig config;
    config.reference = ImageRef("train:1");
    config.secrets = {{.id = "TOKEN", .value = "hunter2"}};
    return config;
}

} // namespace

TEST_CASE("a session that is refused is told before anything is sent, and leaves the classic builder") {
    for (const int status : {200, 400, 403, 404, 405, 501}) {
        CAPTURE(status);
        OverStub stub([=](StubConnection connection) -> Task<void> {
            return [](StubConnection with, int answered) -> Task<void> {
                while (const auto request = co_await with.read_request()) {
                    co_await with.send(request->target == "/_ping" ? ping_answer("1.45", "2")
                                       : request->target.ends_with("/session")
                                           ? http_answer(answered, R"({"message":"not allowed here"})")
                                           : http_chunked(200, {"{\"aux\":{\"ID\":\"sha256:1\"}}\n"}));
                }
            }(connection, status);
        });
        const auto error = stub.run(stub.engine->build_image(config_with_secret(), tar, {})).error();
        CHECK(error.where == "a");
        CHECK(error.message.starts_with("build image train:1: POST /session is refused there (status " +
                                        std::to_string(status) +
                                        "), over which BuildKit asks for files and "
                                        "for the secrets of `image.build`: "));
        CHECK((status == 200 || error.message.ends_with(": not allowed here")));
        CHECK(error.hint.starts_with("let POST /session "));
        CHECK(stub.server.requests().size() == 1);
        CHECK(stub.run(stub.engine->builder(true)).error().message.find("(status ") != std::string::npos);
        CHECK(stub.run(stub.engine->builder(false)).value() == Builder::classic);
        CHECK(stub.run(stub.engine->build_image({.reference = ImageRef("train:1")}, tar, {})).value() ==
              "sha256:1");
        CHECK(stub.server.requests().at(1).line().starts_with("POST /v1.45/build?version=1&t="));
    }
}

TEST_CASE("an engine that is out of order is not taken for one without sessions") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        while (const auto request = co_await connection.read_request()) {
            co_await connection.send(request->target == "/_ping"
                                         ? ping_answer("1.45", "2")
                                         : http_answer(500, R"({"message":"no space left on device"})"));
        }
    });
    const auto error = stub.run(stub.engine->build_image(config_with_secret(), tar, {})).error();
    CHECK(error.message == "build image train:1: no space left on device");
    CHECK(stub.run(stub.engine->builder(true)).value() == Builder::buildkit);
}

TEST_CASE("other builders get no session, and secrets only where they stay out of the image") {
    const auto requests_of = [](const std::string& ping, BuildConfig config) {
        OverStub stub([&](StubConnection connection) -> Task<void> {
            return [](StubConnection with, std::string first) -> Task<void> {
                while (const auto request = co_await with.read_request()) {
                    co_await with.send(request->target == "/_ping"
                                           ? first
                                           : http_chunked(200, {"{\"aux\":{\"ID\":\"sha256:1\"}}\n"}));
                }
            }(connection, ping);
        });
        const auto built = stub.run(stub.engine->build_image(std::move(config), tar, {}));
        return built ? stub.server.requests().at(0).line()
                     : built.error().message + "; " + built.error().hint;
    };
    const auto podman = [](const std::string& version) {
        return "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nBuilder-Version: \r\nLibpod-Api-Version: " + version +
               "\r\nContent-Length: 2\r\n\r\nOK";
    };
    auto config = config_with_secret();
    config.secrets.front().file = ".secret-1";
    CHECK(
        requests_of(podman("4.3.1"), config) ==
        "POST /v1.41/build?version=1&secrets=%5B%22id%3DTOKEN%2Csrc%3D.secret-1%22%5D&t=train%3A1&dockerfile="
        "Dockerfile&rm=1&forcerm=1");
    CHECK(requests_of(podman("3.0.1"), config) == "Podman before 4 leaves a build's secrets among the "
                                                  "image's files; build at another host (`image.from`)");
    CHECK(requests_of(ping_answer("1.45", "1"), config)
              .starts_with(
                  "BuildKit is turned off in that engine, and without it a build has no secrets; write "));
    CHECK(requests_of(ping_answer("1.45", "1"), {.reference = ImageRef("train:1")}) ==
          "POST /v1.45/build?version=1&t=train%3A1&dockerfile=Dockerfile&rm=1&forcerm=1");
}

} // namespace builders_test

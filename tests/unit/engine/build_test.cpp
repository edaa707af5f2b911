// Building an image: what is sent, and what is made of the messages that come.
#include "client/async/async_event.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>

namespace build_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

const std::string tar(5000, 't');

BuildConfig config_of(std::string dockerfile = "Dockerfile") {
    BuildConfig config;
    config.reference = ImageRef("train:1");
    config.dockerfile = std::move(dockerfile);
    return config;
}

std::string stream(const std::string& text) {
    return "{\"stream\":\"" + text + "\"}\r\n";
}

// Answers pings and plays `then` for what else is asked; `mute` says that nothing is answered any more after
// that.
StubServer::Script with_build(std::function<Task<void>(StubConnection)> then, bool mute = false) {
    const auto asked = std::make_shared<bool>(false);
    return [then, mute, asked](StubConnection connection) -> Task<void> {
        return [](std::function<Task<void>(StubConnection)> play, bool goes_mute, std::shared_ptr<bool> begun,
                  StubConnection with) -> Task<void> {
            while (const auto request = co_await with.read_request()) {
                if (request->target != "/_ping") {
                    *begun = true;
                    co_return co_await play(with);
                }
                if (goes_mute && *begun) {
                    co_return co_await with.wait_until_client_closes();
                }
                co_await with.send(ping_answer());
            }
        }(then, mute, asked, connection);
    };
}

struct Said {
    std::string text{};
    std::vector<std::string> pulls{};
    std::vector<std::uint64_t> sent{};
    auto note() {
        return [this](const BuildOutput& output) {
            text += output.text;
            if (!output.pull.status.empty()) {
                pulls.push_back(output.pull.layer + " " + output.pull.status);
            }
            if (output.sent > 0) {
                sent.push_back(output.sent);
            }
        };
    }
};

Error error_of_answer(const std::string& answer) {
    OverStub stub(always(answer));
    const auto built = stub.run(stub.engine->build_image(config_of(), tar, {}));
    REQUIRE(built.has_error());
    return built.error();
}

Error error_of(const std::vector<std::string>& chunks) {
    return error_of_answer(http_chunked(200, chunks));
}

} // namespace

TEST_CASE("a build sends the tar and tells what comes of it") {
    OverStub stub(always(
        http_chunked(200, {stream("Step 1/2 : FROM x\\n"),
                           "{\"status\":\"Downloading\",\"id\":\"l1\",\"progressDetail\":{\"current\":1,"
                           "\"total\":2}}\r\n",
                           stream("Step 2/2 : RUN y\\n").substr(0, 9),
                           stream("Step 2/2 : RUN y\\n").substr(9), "{\"aux\":{\"ID\":\"sha256:beef\"}}\r\n",
                           stream("Successfully built beef\\n"), stream("Successfully tagged train:1\\n")}),
        true));
    Said said;
    auto config = config_of("docker/Dockerfile");
    config.args = {{"A", "1 \"x\""}};
    config.labels = {{"l", "v"}};
    config.platform = "linux/arm64";
    config.target = "base";
    config.pull = true;
    config.no_cache = true;
    config.registry_config = "e30=";
    const auto built = stub.run(stub.engine->build_image(config, tar, said.note()));
    REQUIRE(built.has_value());
    CHECK(*built == "sha256:beef");
    CHECK(said.text == "Step 1/2 : FROM x\nStep 2/2 : RUN y\nSuccessfully built beef\nSuccessfully tagged "
                       "train:1\n");
    CHECK(said.pulls == std::vector<std::string>{"l1 Downloading"});
    CHECK(said.sent == std::vector<std::uint64_t>{5000});
    const auto& request = stub.server.requests().at(0);
    CHECK(
        request.line() ==
        "POST /v1.45/build?version=1&t=train%3A1&dockerfile=docker%2FDockerfile&target=base&platform=linux%2F"
        "arm64&buildargs=%7B%22A%22%3A%221%20%5C%22x%5C%22%22%7D&labels=%7B%22l%22%3A%22v%22%7D&pull=1&"
        "nocache"
        "=1&rm=1&forcerm=1");
    CHECK(request.body == tar);
    CHECK(request.headers.at("content-type") == "application/x-tar");
    CHECK(request.headers.at("x-registry-config") == "e30=");
}

TEST_CASE("a big tar is sent in pieces, each of which is told") {
    OverStub stub(always(http_chunked(200, {"{\"aux\":{\"ID\":\"sha256:1\"}}\n"})));
    const std::string big((2U << 20U) + 5, 't');
    Said said;
    CHECK(stub.run(stub.engine->build_image(config_of(), big, said.note())).has_value());
    CHECK(said.sent == std::vector<std::uint64_t>{1U << 20U, 2U << 20U, (2U << 20U) + 5});
    CHECK(stub.server.requests().at(0).body == big);
}

TEST_CASE("without options a build asks for no more than it needs") {
    OverStub stub(always(http_chunked(200, {"{\"aux\":{\"ID\":\"sha256:1\"}}\n"})));
    CHECK(stub.run(stub.engine->build_image(config_of(), tar, {})).value() == "sha256:1");
    const auto& request = stub.server.requests().at(0);
    CHECK(request.line() == "POST /v1.45/build?version=1&t=train%3A1&dockerfile=Dockerfile&rm=1&forcerm=1");
    CHECK(!request.headers.contains("x-registry-config"));
}

TEST_CASE("a build that tells no id is looked up by its name, when it says that it was built") {
    OverStub stub(StubServer::engine([](const StubRequest& request) {
        return request.method == "POST"
                   ? http_chunked(200, {stream("STEP 1/1: FROM x\\n"), stream("Successfully built 12\\n")})
                   : http_answer(200, R"({"Id":"sha256:looked-up"})");
    }));
    CHECK(stub.run(stub.engine->build_image(config_of(), tar, {})).value() == "sha256:looked-up");
    CHECK(stub.server.requests().at(1).line() == "GET /v1.45/images/train:1/json");

    const auto error = error_of({stream("Step 1/1 : FROM x\\n")});
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.message == "build image train:1: it ended without an image");
}

TEST_CASE("a step that fails is the user's: which one, and its exit code") {
    const Error expected{
        ErrorKind::config, "a", "build image train:1: step 2/3 (RUN make && exit 3) ended with exit code 3",
        "the lines before tell why: correct the Dockerfile or its files, and run the command "
        "again"};
    const std::string docker = "The command '/bin/sh -c make && exit 3' returned a non-zero code: 3";
    CHECK(error_of({stream("Step 1/3 : FROM x\\n"), stream("Step 2/3 : RUN make && exit 3\\n"),
                    stream(" ---\\u003e Running in 0123\\n"),
                    "{\"errorDetail\":{\"code\":3,\"message\":\"" + docker + "\"},\"error\":\"" + docker +
                        "\"}\r\n"}) == expected);
    CHECK(error_of({stream("STEP 1/3: FROM x\\n"), stream("STEP 2/3: RUN make"), stream(" && exit 3\\n"),
                    "{\"error\":\"building at STEP \\\"RUN make\\\": while running runtime: exit status "
                    "3\\n\"}\n"}) == expected);
}

TEST_CASE("what is wrong with the Dockerfile or its files is told as such") {
    const auto copy = error_of(
        {stream("Step 2/2 : COPY a /\\n"),
         R"({"error":"COPY failed: file not found in build context or excluded by .dockerignore: stat a: )"
         R"(file does not exist"})"});
    CHECK(copy.kind == ErrorKind::config);
    CHECK(copy.message == "build image train:1: step 2/2 (COPY a /): COPY failed: file not found in build "
                          "context or excluded by .dockerignore: stat a: file does not exist");
    CHECK(copy.hint == "is it in the folder, and not left out by .dockerignore?");
    const auto buildkit = error_of({stream("Step 2/2 : RUN --mount=type=cache x\\n"),
                                    R"({"error":"the --mount option requires BuildKit. Refer to …"})"});
    CHECK(buildkit.kind == ErrorKind::config);
    CHECK(buildkit.hint.find("BuildKit is turned off") != std::string::npos);
    const auto agent = error_of(
        {stream("Step 2/2 : RUN --mount=type=ssh x\\n"), R"({"error":"no ssh handler for socket"})"});
    CHECK(agent.hint.starts_with("dockdist gives no ssh agent to a build (RUN --mount=type=ssh)"));
    const auto parse = error_of_answer(
        http_answer(400, R"({"message":"dockerfile parse error line 3: FROM requires one argument"})"));
    CHECK(parse == Error{ErrorKind::config, "a",
                         "build image train:1: dockerfile parse error line 3: FROM requires one argument",
                         "correct that line of the Dockerfile"});
}

TEST_CASE("what is wrong with the engine or the registry stays theirs") {
    const auto denied = error_of({stream("Step 1/1 : FROM private/x\\n"),
                                  R"({"errorDetail":{"message":"pull access denied for private/x"},)"
                                  R"("error":"pull access denied for private/x"})"});
    CHECK(denied == Error{ErrorKind::engine, "a",
                          "build image train:1: step 1/1 (FROM private/x): pull access denied for private/x",
                          "check the image's name, and log in to its registry (docker login)"});
    const auto full = error_of(
        {stream("Step 2/2 : COPY a /\\n"), R"({"error":"COPY failed: write /x: no space left on device"})"});
    CHECK(full.kind == ErrorKind::engine);
    CHECK(full.hint == "free disk space on that host (docker system df)");
    const auto helper = error_of({stream("Step 1/1 : FROM x\\n"), R"({"error":"helper: exit status 1"})"});
    CHECK(helper.kind == ErrorKind::engine);
    CHECK(error_of_answer(http_answer(500, R"({"message":"exit status 1"})")).message ==
          "build image train:1: exit status 1");
    CHECK(error_of({R"({"error":"\n"})"}).message == "build image train:1: it failed without a message");
    CHECK(error_of({R"({"error":"\u001b[2Jx"})"}).message == "build image train:1: \\x1b[2Jx");
}

TEST_CASE("messages that are none, and of a wrong type, are errors and no crash") {
    for (const std::string line :
         {"<html>\n", "{\"stream\":\n", "[1]\n", "{\"stream\":5}\n", "{\"error\":{}}\n",
          "{\"aux\":{\"ID\":7}}\n", "{\"errorDetail\":[]}\n", "{\"status\":\"x\",\"progressDetail\":7}\n",
          "{\"error\":\"x\",\"errorDetail\":{\"code\":\"3\"}}\n"}) {
        CAPTURE(line);
        CHECK(error_of({line}).message.starts_with("build image train:1: "));
    }
    // What else carries text there is passed over.
    OverStub stub(always(http_chunked(200, {"{\"id\":\"moby.other\",\"aux\":\"Cg==\"}\n",
                                            "{\"stream\":null,\"aux\":{\"ID\":\"sha256:1\"}}\n"})));
    CHECK(stub.run(stub.engine->build_image(config_of(), tar, {})).has_value());
}

TEST_CASE("a build's stream that is cut anywhere is an error") {
    const auto whole = http_chunked(200, {stream("Step 1/1 : FROM x\\n"), stream("Successfully built 1\\n")});
    for (std::size_t size = 0; size + 1 < whole.size(); size += 7) {
        CAPTURE(size);
        OverStub stub(with_build([&, size](StubConnection connection) -> Task<void> {
            return [](StubConnection with, std::string bytes) -> Task<void> {
                co_await with.send(bytes);
            }(connection, whole.substr(0, size));
        }));
        const auto error = stub.run(stub.engine->build_image(config_of(), tar, {})).error();
        CHECK((error.kind == ErrorKind::protocol || error.kind == ErrorKind::unreachable));
        CHECK(error.where == "a");
    }
}

TEST_CASE("an engine that refuses before it has read the tar is heard") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        return [](StubConnection with) -> Task<void> {
            std::string seen;
            bool pinged = false;
            while (true) {
                const auto bytes = co_await with.read_some();
                seen += bytes;
                if (!pinged && seen.find("/_ping") != std::string::npos) {
                    pinged = true;
                    seen.clear();
                    co_await with.send(ping_answer());
                } else if (bytes.empty()) {
                    co_return;
                } else if (seen.find("/build") != std::string::npos) {
                    co_await with.send(
                        http_answer(500, R"({"message":"write /x: no space left on device"})"));
                    co_return co_await with.wait_until_client_closes(); // reads no more
                }
            }
        }(connection);
    });
    const std::string big(64U << 20U, 't'); // more than a socket holds
    const auto error = stub.run(stub.engine->build_image(config_of(), big, {})).error();
    CHECK(error == Error{ErrorKind::engine, "a", "build image train:1: write /x: no space left on device",
                         "free disk space on that host (docker system df)"});
}

TEST_CASE("a silent build goes on while its engine answers") {
    int pings = 0;
    AsyncEvent* goes_on = nullptr;
    const auto script = [&](StubConnection connection) -> Task<void> {
        return [](StubConnection with, int& count, AsyncEvent*& event) -> Task<void> {
            while (const auto request = co_await with.read_request()) {
                if (request->target == "/_ping") {
                    if (++count == 4) {
                        event->set();
                    }
                    co_await with.send(ping_answer());
                    continue;
                }
                co_await event->wait();
                co_await with.send(http_chunked(200, {"{\"aux\":{\"ID\":\"sha256:1\"}}\n"}));
            }
        }(connection, pings, goes_on);
    };
    OverStub stub(script, {.build_silence = 5ms});
    AsyncEvent event(stub.io.get_executor());
    goes_on = &event;
    CHECK(stub.run(stub.engine->build_image(config_of(), tar, {})).value() == "sha256:1");
    CHECK(pings >= 4);
}

TEST_CASE("a build whose engine does not answer any more is given up") {
    OverStub stub(with_build(
                      [](StubConnection connection) -> Task<void> {
                          return [](StubConnection with) -> Task<void> {
                              co_await with.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                              co_await with.wait_until_client_closes();
                          }(connection);
                      },
                      true),
                  {.call = 20ms, .build_silence = 5ms});
    const auto error = stub.run(stub.engine->build_image(config_of(), tar, {})).error();
    CHECK(error.kind == ErrorKind::timeout);
    CHECK(error.message.starts_with("build image train:1: the engine sends nothing any more: "));
}

TEST_CASE("a build that is cancelled ends its connection") {
    bool building_there = false;
    bool closed = false;
    OverStub stub(with_build([&](StubConnection connection) -> Task<void> {
        return [](StubConnection with, bool& begun, bool& gone) -> Task<void> {
            co_await with.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n");
            begun = true;
            co_await with.wait_until_client_closes();
            gone = true;
        }(connection, building_there, closed);
    }));
    Cancellable building(stub.io, stub.engine->build_image(config_of(), tar, {}));
    run_until(stub.io, [&] { return building_there; });
    building.cancel();
    building.wait();
    CHECK(building.ended_by_cancellation());
    run_until(stub.io, [&] { return closed; });
}

} // namespace build_test

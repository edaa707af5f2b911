// Building with BuildKit: the session, the build beside it, and what is made of its messages.
#include "client/async/async_event.hpp"
#include "fakes/grpc_client.hpp"
#include "over_stub.hpp"
#include "shared/core/encode.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <sys/stat.h>

namespace buildkit_build_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

const std::string tar(5000, 't');
const std::string upgraded = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

std::string first_field(const std::string& text) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_string(1, text);
    return bytes;
}

BuildConfig config_with_secret() {
    BuildConfig config;
    config.reference = ImageRef("train:1");
    config.secrets = {{.id = "TOKEN", .value = "hunter2"}};
    return config;
}

class Files final : public BuildFiles {
public:
    const std::vector<BuildFile>& list() const override { return list_; }
    Result<std::string> read(std::size_t index, std::uint64_t offset, std::size_t size) override {
        ++reads;
        if (broken) {
            return Error{ErrorKind::config, list_.at(index).name, "cannot be read", "make it so"};
        }
        return std::string("content").substr(offset, size);
    }
    bool broken = false;
    int reads = 0;

private:
    std::vector<BuildFile> list_{{.name = "src", .mode = S_IFDIR | 0755},
                                 {.name = "src/a", .mode = S_IFREG | 0644, .size = 7}};
};

// An engine with BuildKit: it asks for a secret and a login, and then answers the build by `answer`, with
// what it was told where that says %.
struct Engine {
    std::string answer = http_chunked(200, {"{\"id\":\"moby.image.id\",\"aux\":{\"ID\":\"sha256:1\"}}\n"});
    std::string ping = ping_answer("1.45", "2");
    bool asks = true, fetches = false, gives_up = false, loses_session = false, hangs = false;
    bool session_was_closed = false, build_was_closed = false;
    std::vector<std::string> registries{"ghcr.io"};
    std::vector<std::string> told{};
    std::shared_ptr<AsyncEvent> asked{};

    StubServer::Script script() {
        return [this](StubConnection connection) -> Task<void> { return serve(*this, connection); };
    }

    static Task<void> serve(Engine& self, StubConnection connection) {
        while (const auto request = co_await connection.read_request()) {
            if (request->target == "/_ping") {
                co_await connection.send(self.ping);
            } else if (request->target.ends_with("/session")) {
                co_await connection.send(upgraded);
                co_return co_await talk(self, connection);
            } else if (self.hangs) {
                co_await connection.wait_until_client_closes();
                self.build_was_closed = true;
                co_return;
            } else {
                co_await self.asked->wait();
                co_return co_await connection.send(self.answer);
            }
        }
    }

    // The second entry of the folder "context".
    static Task<void> fetch(Engine& self, GrpcClient& client, StubConnection connection) {
        const auto call = client.open("/moby.filesync.v1.FileSync/DiffCopy", {{"dir-name", "context"}});
        while (!client.answer(call).fields.contains("grpc-status")) { // an engine resets it then
            co_await connection.send(client.take_output());
            const auto bytes = co_await connection.read_some();
            if (bytes.empty() || !client.feed(bytes)) {
                co_return;
            }
            for (const auto& message : client.answer(call).take_messages()) {
                if (message.empty() && self.gives_up) {
                    client.send(call, std::string("\x08\x01\x18\x01", 4));
                    client.send(call, std::string("\x08\x03", 2)); // "I have all"
                    auto last = client.take_output();
                    client.reset(call);
                    last += client.take_output();
                    co_await connection.send(std::move(last)); // in one, and so before anything is read
                    co_return;
                } else if (message.empty()) { // the end of the list
                    client.send(call, std::string("\x08\x01\x18\x01", 4));
                } else if (message == std::string("\x08\x02\x18\x01", 4)) { // the end of the file
                    client.send(call, std::string("\x08\x03", 2));
                } else {
                    self.told.push_back(message);
                }
            }
        }
        self.told.push_back(client.answer(call).fields.at("grpc-status"));
    }

    static Task<void> talk(Engine& self, StubConnection connection) {
        GrpcClient client;
        if (self.asks) {
            std::vector asked{
                client.call("/moby.buildkit.secrets.v1.Secrets/GetSecret", first_field("TOKEN"))};
            for (const auto& registry : self.registries) {
                asked.push_back(client.call("/moby.filesync.v1.Auth/Credentials", first_field(registry)));
            }
            while (!std::ranges::all_of(asked, [&](auto call) { return client.answer(call).ended; })) {
                co_await connection.send(client.take_output());
                const auto bytes = co_await connection.read_some();
                if (bytes.empty() || !client.feed(bytes)) {
                    self.session_was_closed = true;
                    co_return;
                }
            }
            for (const auto call : asked) {
                self.told.push_back(client.answer(call).message());
            }
        }
        if (self.fetches) {
            co_await fetch(self, client, connection);
        }
        self.asked->set();
        if (!self.loses_session) {
            co_await connection.wait_until_client_closes();
            self.session_was_closed = true;
        }
    }
};

struct OverBuildKit {
    explicit OverBuildKit(EngineLimits limits = {}) : stub(engine.script(), limits) {
        engine.asked = std::make_shared<AsyncEvent>(stub.io.get_executor());
    }
    ~OverBuildKit() { engine.asked.reset(); } // before its io_context
    Result<std::string> build(BuildConfig config) {
        return stub.run(stub.engine->build_image(std::move(config), tar, [&](const BuildOutput& output) {
            steps += output.step.empty() ? "" : output.step + "\n";
            text += output.text;
            if (output.sent > 0) {
                sent.push_back(output.sent);
            }
        }));
    }
    Engine engine{};
    OverStub stub;
    std::string steps{}, text{};
    std::vector<std::uint64_t> sent{};
};

std::string recorded(const std::string& name) {
    std::ifstream file(std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/engine/recorded/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("a build opens a session, over which the engine gets secrets and logins, and closes it behind") {
    OverBuildKit over;
    std::string login_for;
    auto config = config_with_secret();
    config.login = [&](std::string registry) -> Task<std::optional<BuildLogin>> {
        login_for = registry;
        co_return BuildLogin{"ada", "pw"};
    };
    CHECK(over.build(std::move(config)).value() == "sha256:1");
    CHECK(over.engine.told == std::vector<std::string>{"\x0a\x07hunter2", "\x0a\x03"
                                                                          "ada\x12\x02pw"});
    CHECK(login_for == "ghcr.io");
    const auto& session = over.stub.server.requests().at(0);
    CHECK(session.line() == "POST /v1.45/session");
    CHECK(session.headers.at("upgrade") == "h2c");
    const auto id = session.headers.at("x-docker-expose-session-uuid");
    CHECK(id.size() == 32);
    const auto& build = over.stub.server.requests().at(1);
    CHECK(build.line() == "POST /v1.45/build?version=2&session=" + id +
                              "&remote=client-session&t=train%3A1&dockerfile=Dockerfile&rm=1&forcerm=1");
    CHECK(build.body.empty());
    run_until(over.stub.io, [&] { return over.engine.session_was_closed; });
    CHECK(over.stub.run(over.stub.engine->builder(true)).value() == Builder::buildkit);
}

TEST_CASE("a registry's login is looked for once, and for what is no registry's name never") {
    OverBuildKit over;
    over.engine.registries = {"ghcr.io", "a b\nquay.io", "ghcr.io"};
    std::vector<std::string> looked_for;
    auto config = config_with_secret();
    config.login = [&](std::string registry) -> Task<std::optional<BuildLogin>> {
        looked_for.push_back(registry);
        co_return BuildLogin{"ada", "pw"};
    };
    CHECK(over.build(std::move(config)).has_value());
    CHECK(looked_for == std::vector<std::string>{"ghcr.io"});
    REQUIRE(over.engine.told.size() == 4);
    CHECK(over.engine.told[2].empty());
    CHECK(over.engine.told[3] == over.engine.told[1]);
}

TEST_CASE("without a login for a registry the engine is told so") {
    OverBuildKit over;
    CHECK(over.build(config_with_secret()).has_value());
    CHECK(over.engine.told == std::vector<std::string>{"\x0a\x07hunter2", ""});
}

TEST_CASE("the engine gets the files that it asks for, and the bytes of these are told") {
    OverBuildKit over;
    over.engine.asks = false;
    over.engine.fetches = true;
    auto config = config_with_secret();
    config.folders = {{"context", std::make_shared<Files>()}};
    CHECK(over.build(std::move(config)).value() == "sha256:1");
    REQUIRE(over.engine.told.size() == 5);
    CHECK(over.engine.told[0].find("src") != std::string::npos);
    CHECK(over.engine.told[1].find("src/a") != std::string::npos);
    CHECK(over.engine.told[2].ends_with("content"));
    CHECK(over.engine.told[3] == std::string("\x08\x03", 2));
    CHECK(over.engine.told[4] == "0");
    CHECK(over.sent == std::vector<std::uint64_t>{7});
}

TEST_CASE("a file that cannot be read ends the build with its name") {
    OverBuildKit over;
    over.engine.asks = false;
    over.engine.fetches = true;
    auto config = config_with_secret();
    const auto files = std::make_shared<Files>();
    files->broken = true;
    config.folders = {{"context", files}};
    CHECK(over.build(std::move(config)).error() ==
          Error{ErrorKind::config, "src/a", "cannot be read", "make it so"});
}

TEST_CASE("a folder that the engine gives up after it has asked for a file and has all is read no further") {
    OverBuildKit over;
    over.engine.asks = false;
    over.engine.fetches = true;
    over.engine.gives_up = true;
    auto config = config_with_secret();
    const auto files = std::make_shared<Files>();
    config.folders = {{"context", files}};
    CHECK(over.build(std::move(config)).value() == "sha256:1");
    CHECK(files->reads == 0);
}

TEST_CASE("a folder that there is not is not given") {
    OverBuildKit over;
    over.engine.asks = false;
    over.engine.fetches = true;
    CHECK(over.build(config_with_secret()).has_value());
    CHECK(over.engine.told == std::vector<std::string>{"5"});
}

TEST_CASE("a session that the engine closes ends no build") {
    OverBuildKit over;
    over.engine.loses_session = true;
    CHECK(over.build(config_with_secret()).value() == "sha256:1");
}

TEST_CASE("steps are told, and of the one that fails its number, its lines and its exit code") {
    OverBuildKit over;
    over.engine.answer = http_chunked(200, {recorded("26.1/build_failed.jsonl")});
    const auto error = over.build(config_with_secret()).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message ==
          "build image train:1: step stage-1 3/3 (RUN for i in $(seq 30); do echo line $i; done; printf 'no "
          "end\\033[1m'; exit 3) ended with exit code 3");
    CHECK(over.steps.find("[tools 2/2] RUN echo tools >/tools\n") != std::string::npos);
    CHECK(over.text.starts_with("[stage-1 3/3] RUN for i"));
    CHECK(over.text.ends_with("line 30\nno end\x1b[1m\n"));
}

TEST_CASE("what BuildKit says is wrong is told with what to do") {
    const auto error_of = [](const std::string& message) {
        OverBuildKit over;
        over.engine.answer = http_chunked(200, {R"({"error":")" + message + "\"}\n"});
        return over.build(config_with_secret()).error();
    };
    const auto parse =
        error_of("failed to solve with frontend dockerfile.v0: failed to create LLB definition: "
                 "dockerfile parse error line 3: unknown instruction: ECHO");
    CHECK(parse.kind == ErrorKind::config);
    CHECK(parse.message == "build image train:1: dockerfile parse error line 3: unknown instruction: ECHO");
    CHECK(parse.hint.starts_with("correct that line of the Dockerfile; a heredoc "));
    CHECK(error_of("no SSH key default forwarded from the client").hint.find("ssh agent") !=
          std::string::npos);
    CHECK(error_of("failed to compute cache key: \\\"/missing\\\" not found: not found").hint ==
          "is it in the folder, and not left out by .dockerignore?");
    CHECK(error_of("no active session for x: context deadline exceeded").hint.find("was lost") !=
          std::string::npos);
}

TEST_CASE("an image that `# syntax=` names and that cannot be had is told from one that FROM names") {
    const auto error_of = [](const std::string& step) {
        std::string vertex, trace;
        protozero::pbf_writer fields(vertex);
        fields.add_string(1, "sha256:1");
        fields.add_string(3, step);
        fields.add_message(5, std::string());
        fields.add_string(7, "dial tcp: lookup registry");
        protozero::pbf_writer(trace).add_message(1, vertex);
        OverBuildKit over;
        over.engine.answer = http_chunked(
            200, {R"({"id":"moby.buildkit.trace","aux":")" + to_base64(trace) + "\"}\n",
                  R"({"error":"failed to solve: docker.io/docker/dockerfile:1: dial tcp: lookup registry"})"
                  "\n"});
        return over.build(config_with_secret()).error();
    };
    const auto frontend = error_of("resolve image config for docker-image://docker.io/docker/dockerfile:1");
    CHECK(frontend.message.starts_with("build image train:1: resolve image config for docker-image://"));
    CHECK(frontend.hint.starts_with("the Dockerfile's line `# syntax=` makes the engine fetch that image"));
    CHECK(frontend.hint.find("leave the line out") != std::string::npos);
    CHECK(error_of("[internal] load metadata for docker.io/library/a:1").hint ==
          "that host cannot resolve the registry's name: check its DNS and network");
}

TEST_CASE("a trace that is none is an error, and no crash") {
    for (const std::string line : {R"({"id":"moby.buildkit.trace","aux":"!"})", R"({"id":7,"aux":"Cg=="})",
                                   R"({"id":"moby.buildkit.trace","aux":"CgE="})"}) {
        CAPTURE(line);
        OverBuildKit over;
        over.engine.answer = http_chunked(200, {line + "\n"});
        const auto error = over.build(config_with_secret()).error();
        CHECK(error.kind == ErrorKind::protocol);
        CHECK(error.message.starts_with("build image train:1: "));
    }
}

TEST_CASE("a build with BuildKit that is cancelled closes both of its connections") {
    OverBuildKit over;
    over.engine.hangs = true;
    bool looked_for = false;
    auto config = config_with_secret();
    config.login = [&](std::string) -> Task<std::optional<BuildLogin>> {
        looked_for = true;
        AsyncEvent never(co_await boost::asio::this_coro::executor);
        co_await never.wait(); // a helper that waits for its user
        co_return std::nullopt;
    };
    Cancellable building(over.stub.io, over.stub.engine->build_image(std::move(config), tar, {}));
    run_until(over.stub.io, [&] { return looked_for && over.stub.server.requests().size() == 2; });
    building.cancel();
    building.wait();
    CHECK(building.ended_by_cancellation());
    run_until(over.stub.io, [&] { return over.engine.session_was_closed && over.engine.build_was_closed; });
}

} // namespace buildkit_build_test

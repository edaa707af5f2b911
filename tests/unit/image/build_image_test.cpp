#include "client/image/build_image.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

namespace build_image_test {

using namespace dockdist;

namespace {

class Told : public Reporter {
public:
    void on(const Event& event) override {
        if (event.kind == Event::Kind::warning) {
            warnings.push_back(event.subject + ": " + event.text);
        } else if (event.kind == Event::Kind::note) {
            notes.push_back(event.subject + ": " + event.text);
        } else if (event.kind == Event::Kind::step_progress) {
            progress.push_back(event.text);
        } else {
            steps.push_back(event.subject + ": " + event.text);
        }
    }
    void error(const Error&) override {}
    void finish() override {}
    std::vector<std::string> notes{}, progress{}, steps{}, warnings{};
};

struct Building {
    Building() { std::ofstream(folder / "Dockerfile.train") << "FROM a\n"; }
    Status build() {
        return run_task(io, build_image(engine, "a",
                                        {.ref = ImageRef("train:1"),
                                         .platform = "linux/amd64",
                                         .from = "a",
                                         .build = BuildSpec{.context = folder.path,
                                                            .dockerfile = "Dockerfile.train",
                                                            .target = "t",
                                                            .args = {{"A", "1"}},
                                                            .secrets = secrets}},
                                        {.environment =
                                             [this](const std::string& name) {
                                                 return name == "DOCKER_AUTH_CONFIG" ? std::optional(logins)
                                                        : name == "HOME" ? std::optional(folder.path)
                                                                         : std::nullopt;
                                             }},
                                        told));
    }
    std::string logins = R"({"auths":{"ghcr.io":{"auth":"YWRhOnB3"}}})"; // ada:pw
    std::vector<SecretSpec> secrets{};
    Scratch folder{};
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "a"};
    Told told{};
};

} // namespace

TEST_CASE_FIXTURE(Building, "a build is asked for what the file says, and its steps are told") {
    engine.on_build("train:1", {{.sent = 512},
                                {.text = "Step 1/2 : FROM a\nStep 2"},
                                {.text = "/2 : RUN x\n"},
                                {.pull = {.layer = "l", .status = "Downloading", .current = 1, .total = 2}}});
    CHECK(build().has_value());
    CHECK(engine.build_config.reference == ImageRef("train:1"));
    CHECK(engine.build_config.dockerfile == "Dockerfile.train");
    CHECK(engine.build_config.args == std::map<std::string, std::string>{{"A", "1"}});
    CHECK(engine.build_config.target == "t");
    CHECK(engine.build_config.platform == "linux/amd64");
    CHECK(!engine.build_config.registry_config.empty());
    CHECK(!engine.build_config.login);
    CHECK(engine.build_tar.find("FROM a\n") != std::string::npos);
    CHECK(std::ranges::count(told.progress, "Step 1/2 : FROM a") == 1);
    CHECK(std::ranges::count(told.progress, "Step 2/2 : RUN x") == 1);
    CHECK(told.steps ==
          std::vector<std::string>{"a: build train:1", "a: built with Docker's classic builder"});
    CHECK(told.notes.empty());
}

TEST_CASE_FIXTURE(Building, "BuildKit asks for what it needs, and its steps are told") {
    engine.builder_is = Builder::buildkit;
    secrets = {{"TOKEN", "hunter2"}};
    engine.on_build("train:1", {{.step = "[1/2] FROM a"}, {.step = "[2/2] RUN x\x1b"}});
    CHECK(build().has_value());
    CHECK(std::ranges::count(told.progress, "[1/2] FROM a") == 1);
    CHECK(std::ranges::count(told.progress, "[2/2] RUN x\\x1b") == 1);
    CHECK(told.steps.back() == "a: built with BuildKit");
    const auto& config = engine.build_config;
    CHECK(config.registry_config.empty());
    REQUIRE(config.secrets.size() == 1);
    CHECK(config.secrets[0].id == "TOKEN");
    CHECK(config.secrets[0].value == "hunter2");
    CHECK(engine.build_tar.empty());
    CHECK(config.dockerfile == "Dockerfile.train");
    CHECK(config.folders.at("dockerfile")->list().at(0).name == "Dockerfile.train");
    CHECK(config.folder_key.size() == 64);
    const auto login = run_task(io, config.login("ghcr.io"));
    REQUIRE(login.has_value());
    CHECK(login->user == "ada");
    CHECK(login->password == "pw");
    CHECK(!run_task(io, config.login("quay.io")));
    logins = R"({"auths":{"registry-1.docker.io":{},"https://index.docker.io/v1/":{"identitytoken":"t"}}})";
    const auto hub = run_task(io, config.login("registry-1.docker.io"));
    REQUIRE(hub.has_value());
    CHECK(hub->user.empty());
    CHECK(hub->password == "t");
    CHECK(told.notes.empty());
    logins = R"({"auths":{"ghcr.io":{"registrytoken":"bearer"}}})"; // which its protocol has no word for
    CHECK(!run_task(io, config.login("ghcr.io")));
    REQUIRE(told.notes.size() == 1);
    CHECK(told.notes[0] ==
          "a: no login for ghcr.io: DOCKER_AUTH_CONFIG holds a `registrytoken` for it alone, "
          "which BuildKit cannot be given: `docker login ghcr.io`");
    told.notes.clear();
    logins = "{";
    CHECK(!run_task(io, config.login("ghcr.io")));
    REQUIRE(told.notes.size() == 1);
    CHECK(told.notes[0].starts_with("a: no login for ghcr.io: DOCKER_AUTH_CONFIG: "));
}

TEST_CASE_FIXTURE(Building,
                  "where BuildKit's session is refused the classic builder builds, with a warning") {
    engine.builder_is = Builder::buildkit;
    engine.fail("build_image train:1",
                {ErrorKind::engine, "a", "build image train:1: POST /session is refused", "let it pass"});
    engine.on_call = [&](const std::string&) { engine.builder_is = Builder::classic; };
    CHECK(build().has_value());
    CHECK(engine.calls == std::vector<std::string>{"build_image train:1", "build_image train:1"});
    CHECK(engine.build_config.folders.empty());
    CHECK(engine.build_tar.find("FROM a\n") != std::string::npos);
    CHECK(told.warnings == std::vector<std::string>{
                               "a: build image train:1: POST /session is refused; Docker's classic builder "
                               "builds it instead, which supports neither RUN --mount nor heredocs (let it "
                               "pass)"});
    CHECK(told.steps.back() == "a: built with Docker's classic builder");
}

TEST_CASE_FIXTURE(Building,
                  "a build with secrets, or one that fails otherwise, is not tried in another way") {
    engine.builder_is = Builder::buildkit;
    engine.on_build("train:1", {}, Error{ErrorKind::engine, "a", "no space left", ""});
    CHECK(build().error().message == "no space left");
    CHECK(engine.calls.size() == 1);
    secrets = {{"TOKEN", "hunter2"}};
    engine.on_call = [&](const std::string&) { engine.builder_is = Error{ErrorKind::config, "a", "no", ""}; };
    CHECK(build().error().message == "no space left");
    CHECK(engine.calls.size() == 2);
    CHECK(told.warnings.empty());
}

TEST_CASE_FIXTURE(Building, "Buildah finds the secrets in the tar, under names that nobody guesses") {
    engine.builder_is = Builder::buildah;
    secrets = {{"TOKEN", "hunter2"}};
    engine.on_build("train:1", {});
    CHECK(build().has_value());
    CHECK(told.steps.back() == "a: built with Buildah");
    REQUIRE(engine.build_config.secrets.size() == 1);
    const auto& secret = engine.build_config.secrets[0];
    CHECK(secret.value.empty());
    CHECK(secret.file.starts_with(".dockdist-secret-"));
    CHECK(secret.file.size() == 49);
    CHECK(engine.build_tar.find(secret.file) != std::string::npos);
    CHECK(engine.build_tar.find("hunter2") != std::string::npos);
}

TEST_CASE_FIXTURE(Building, "where an engine takes no secrets nothing is packed") {
    engine.builder_is = Error{ErrorKind::config, "a", "no secrets", ""};
    CHECK(build().error().message == "no secrets");
    CHECK(engine.calls.empty());
    CHECK(told.steps.back() == "a: no secrets");
}

TEST_CASE_FIXTURE(Building, "of a build that fails the last lines are told, without colours and controls") {
    std::string many = "Step 2/2 : RUN x\n";
    for (int i = 0; i < 30; ++i) {
        many += "line " + std::to_string(i) + "\n";
    }
    engine.on_build("train:1", {{.text = many}, {.text = "\x1b[91mwrong\a\x1b[0m\r\n\x1b[9"}},
                    Error{ErrorKind::config, "a", "step 2/2 (RUN x) ended with exit code 3", ""});
    CHECK(build().error().message == "step 2/2 (RUN x) ended with exit code 3");
    REQUIRE(told.notes.size() == 20);
    CHECK(told.notes.front() == "a: line 11");
    CHECK(told.notes.back() == "a: wrong\\x07");
    CHECK(told.steps.back() == "a: step 2/2 (RUN x) ended with exit code 3");
}

TEST_CASE_FIXTURE(Building, "without its Dockerfile the engine is not asked") {
    std::filesystem::remove(folder / "Dockerfile.train");
    CHECK(build().error().where == folder / "Dockerfile.train");
    CHECK(engine.calls.empty());
}

TEST_CASE_FIXTURE(Building, "a build gets the proxies of docker's configuration, beside what the file says") {
    std::filesystem::create_directory(folder / ".docker");
    std::ofstream(folder / ".docker/config.json")
        << R"({"proxies": {"default": {"httpProxy": "http://ada:pw@p"}}})";
    CHECK(build().has_value());
    CHECK(engine.build_config.args == std::map<std::string, std::string>{{"A", "1"},
                                                                         {"HTTP_PROXY", "http://ada:pw@p"},
                                                                         {"http_proxy", "http://ada:pw@p"}});
    for (const auto& said : {told.notes, told.progress, told.steps, told.warnings}) {
        for (const auto& line : said) {
            CHECK(line.find("pw") == std::string::npos);
        }
    }
}

} // namespace build_image_test

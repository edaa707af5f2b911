#include "client/image/docker_config.hpp"
#include "client/image/registry_auth.hpp"
#include "fakes/run_task.hpp"
#include "shared/core/encode.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace registry_auth_test {

using namespace dockdist;

namespace {

// A home with docker's configuration in it, and credential helpers on PATH.
class Home {
public:
    Home() {
        std::string name = std::filesystem::temp_directory_path() / "dockdist-auth-XXXXXX";
        folder = ::mkdtemp(name.data());
        environment["DOCKER_CONFIG"] = folder.string();
        path_before_ = std::getenv("PATH");
        ::setenv("PATH", (folder.string() + ":" + path_before_).c_str(), 1);
    }
    ~Home() {
        ::setenv("PATH", path_before_.c_str(), 1);
        std::filesystem::remove_all(folder);
    }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

    void config(const std::string& json) const { std::ofstream(folder / "config.json") << json; }
    void helper(const std::string& name, const std::string& script) const {
        const auto file = folder / ("docker-credential-" + name);
        std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    Result<RegistryAuth> find(const char* image, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
        boost::asio::io_context io;
        return run_task(io, find_registry_auth(io.get_executor(), ImageRef(image), surroundings(limit)));
    }
    Result<std::string> find_all() {
        boost::asio::io_context io;
        return run_task(
            io, find_all_registry_auth(io.get_executor(), surroundings(std::chrono::milliseconds(20000))));
    }
    AuthSurroundings surroundings(std::chrono::milliseconds limit) {
        return {.environment =
                    [this](const std::string& name) {
                        const auto found = environment.find(name);
                        return found == environment.end() ? std::nullopt : std::optional(found->second);
                    },
                .helper_limit = limit};
    }

    std::filesystem::path folder{};
    std::map<std::string, std::string> environment{};

private:
    std::string path_before_{};
};

nlohmann::json header_json(std::string standard) {
    std::ranges::replace(standard, '-', '+');
    std::ranges::replace(standard, '_', '/');
    return nlohmann::json::parse(*from_base64(standard));
}

nlohmann::json header_of(const Result<RegistryAuth>& auth) {
    REQUIRE(auth.has_value());
    return header_json(auth->header);
}

} // namespace

TEST_CASE("nobody is logged in: no header, and where it was looked for") {
    Home home;
    const auto auth = home.find("ghcr.io/a/b");
    REQUIRE(auth.has_value());
    CHECK(auth->header.empty());
    CHECK(auth->registry == "ghcr.io");
    CHECK(auth->source == home.folder.string() + "/config.json");
}

TEST_CASE("the file's own login") {
    Home home;
    home.config(R"({"auths": {"https://index.docker.io/v1/": {"auth": "YWxpY2U6cHc="}}})");
    CHECK(header_of(home.find("pytorch/pytorch")) ==
          nlohmann::json{
              {"username", "alice"}, {"password", "pw"}, {"serveraddress", "https://index.docker.io/v1/"}});
    CHECK(home.find("ghcr.io/a")->header.empty());
}

TEST_CASE("a host that pulls is given the login for the image's registry, and no other") {
    Home home;
    home.config(R"({"auths": {"ghcr.io": {"auth": "YWxpY2U6cHc="}, "ghcr.io:5000": {"auth": "Ym9iOnB3"},
        "https://index.docker.io/v1/": {"auth": "Y2FyOnB3"}, "io": {"auth": "ZGFuOnB3"}}})");
    CHECK(header_of(home.find("ghcr.io/a/b:1")) ==
          nlohmann::json{{"username", "alice"}, {"password", "pw"}, {"serveraddress", "ghcr.io"}});
    CHECK(header_of(home.find("ghcr.io:5000/a"))["username"] == "bob");
    CHECK(header_of(home.find("a/b"))["username"] == "car");
    for (const auto* stranger :
         {"ghcr.io.example.org/a", "x.ghcr.io/a", "ghcr.io:443/a", "localhost/ghcr.io/a"}) {
        CAPTURE(stranger);
        CHECK(home.find(stranger)->header.empty());
    }
}

TEST_CASE("DOCKER_AUTH_CONFIG comes before the file") {
    Home home;
    home.config(R"({"auths": {"ghcr.io": {"auth": "YWxpY2U6cHc="}}})");
    home.environment["DOCKER_AUTH_CONFIG"] = R"({"auths": {"ghcr.io": {"auth": "Ym9iOnB3"}}})";
    CHECK(header_of(home.find("ghcr.io/a"))["username"] == "bob");
    home.environment["DOCKER_AUTH_CONFIG"] = "{";
    CHECK(home.find("ghcr.io/a").error().where == "DOCKER_AUTH_CONFIG");
}

TEST_CASE("a helper gets the server's name on its stdin, and its token stands for a password") {
    Home home;
    home.config(R"({"credsStore": "test"})");
    home.helper("test", R"([ "$1" = get ] || exit 3
server=$(cat)
echo "{\"ServerURL\":\"$server\",\"Username\":\"<token>\",\"Secret\":\"for $server\"}")");
    const auto auth = home.find("pytorch/pytorch");
    CHECK(header_of(auth) == nlohmann::json{{"identitytoken", "for https://index.docker.io/v1/"},
                                            {"serveraddress", "https://index.docker.io/v1/"}});
    CHECK(auth->source == "docker-credential-test");
}

TEST_CASE("a helper that knows no such login is no error") {
    Home home;
    home.config(R"({"credHelpers": {"ghcr.io": "test"}})");
    home.helper("test", "cat >/dev/null; echo credentials not found in native keychain; exit 1");
    CHECK(home.find("ghcr.io/a")->header.empty());
}

TEST_CASE("what is wrong with a helper, or with the file, is no login, and is told where one is wanted") {
    Home home;
    home.config(R"({"credHelpers": {"a.io": "missing", "b.io": "locked", "c.io": "talks", "d.io": "hangs",
        "e.io": "../bin/sh"}})");
    home.helper("locked", "echo the keychain is locked; exit 1");
    home.helper("talks", "echo hello");
    home.helper("hangs", "exec sleep 100");
    const auto problem_of = [&](const char* image,
                                std::chrono::milliseconds limit = std::chrono::seconds(20)) {
        const auto auth = home.find(image, limit);
        REQUIRE(auth.has_value());
        CHECK(auth->header.empty());
        return auth->problem;
    };
    CHECK(problem_of("a.io/x") == "docker-credential-missing: this program is not there, and " +
                                      home.folder.string() +
                                      "/config.json names it; install it, or take it out of `credsStore` and "
                                      "`credHelpers` and log in again");
    CHECK(problem_of("b.io/x") == "docker-credential-locked: exited with 1: the keychain is locked; log "
                                  "in again with `docker login b.io`");
    CHECK(problem_of("c.io/x").starts_with(
        "docker-credential-talks: its answer is not the JSON of a credential helper"));
    CHECK(problem_of("d.io/x", std::chrono::milliseconds(50)).starts_with("docker-credential-hangs: "));
    CHECK(problem_of("e.io/x") ==
          home.folder.string() + "/config.json: `../bin/sh` is not a credential helper's name");
    home.config("{");
    CHECK(problem_of("a.io/x").starts_with(home.folder.string() + "/config.json: "));
    std::filesystem::remove(home.folder / "config.json");
    std::filesystem::create_directory(home.folder / "config.json"); // root reads any file
    CHECK(problem_of("a.io/x").starts_with(home.folder.string() + "/config.json: cannot be read"));
    CHECK(header_json(home.find_all().value()) == nlohmann::json::object());
}

TEST_CASE("a refused pull is told with the login that was sent, or that there was none") {
    const RegistryAuth none{.registry = "docker.io", .source = "/home/a/.docker/config.json"};
    const RegistryAuth some{.header = "x", .registry = "ghcr.io", .source = "docker-credential-desktop"};
    CHECK(refused_login_hint("pull access denied for a/b, repository does not exist", none) ==
          "/home/a/.docker/config.json has no login for docker.io: `docker login` on this machine, or check "
          "the image's name");
    CHECK(refused_login_hint("Head x: unauthorized: incorrect username or password", some) ==
          "ghcr.io refused the login from docker-credential-desktop: `docker login ghcr.io` again, or check "
          "the image's name");
    CHECK(refused_login_hint("toomanyrequests: You have reached your pull rate limit", none) ==
          "the registry limits pulls without a login: `docker login` on this machine, then again");
    CHECK(refused_login_hint("no space left on device", some).empty());
    const RegistryAuth failed{
        .registry = "ghcr.io", .source = "docker-credential-desktop", .problem = "it is not there"};
    CHECK(refused_login_hint("unauthorized", failed) ==
          "it was asked without a login for ghcr.io, as there was none: it is not there");
    CHECK(refused_login_hint("no space left on device", failed).empty());
}

TEST_CASE("a build is given every login, but those whose helper fails") {
    Home home;
    CHECK(header_json(home.find_all().value()) == nlohmann::json::object());
    home.config(R"({"auths": {"https://index.docker.io/v1/": {"auth": "YWxpY2U6cHc="}, "ghcr.io": {}},
        "credHelpers": {"ghcr.io": "test", "b.io": "missing"}})");
    home.helper("test", R"(cat >/dev/null; echo "{\"Username\":\"ada\",\"Secret\":\"s\"}")");
    home.environment["DOCKER_AUTH_CONFIG"] = R"({"auths": {"c.io": {"auth": "Ym9iOnB3"}}})";
    const nlohmann::json alice{
        {"username", "alice"}, {"password", "pw"}, {"serveraddress", "https://index.docker.io/v1/"}};
    const nlohmann::json ada{{"username", "ada"}, {"password", "s"}, {"serveraddress", "ghcr.io"}};
    const nlohmann::json bob{{"username", "bob"}, {"password", "pw"}, {"serveraddress", "c.io"}};
    CHECK(header_json(home.find_all().value()) ==
          nlohmann::json{{"https://index.docker.io/v1/", alice}, {"ghcr.io", ada}, {"c.io", bob}});
    home.environment["DOCKER_AUTH_CONFIG"] = "{";
    CHECK(home.find_all().error().where == "DOCKER_AUTH_CONFIG");
}

} // namespace registry_auth_test

// Which engine of this machine `init --local` takes.
#include "client/engine/local_engine.hpp"
#include "fakes/tls_front.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <vector>

namespace local_engine_test {

using namespace dockdist;

namespace {

struct Machine {
    TemporaryFolder config{};
    std::map<std::string, std::string> variables{{"DOCKER_CONFIG", config.file("")},
                                                 {"XDG_RUNTIME_DIR", "/run/user/7"}};
    std::set<std::string> listening{}, forbidden{};

    LocalEngine find() const {
        return find_local_engine(
            [this](const std::string& name) {
                const auto found = variables.find(name);
                return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& path) {
                return forbidden.contains(path) ? EACCES : listening.contains(path) ? 0 : ENOENT;
            });
    }
};

} // namespace

TEST_CASE("what the user has named comes first, in docker's own order, whether it answers or not") {
    Machine machine;
    machine.listening = {"/var/run/docker.sock"};
    std::ofstream(machine.config.file("config.json")) << R"({"currentContext": "desktop"})";
    CHECK(machine.find().context == "desktop");
    CHECK(machine.find().said_by == "docker's current context");
    machine.variables["DOCKER_CONTEXT"] = "lab";
    CHECK(machine.find().context == "lab");
    CHECK(machine.find().said_by == "DOCKER_CONTEXT");
    machine.variables["DOCKER_HOST"] = "unix:///run/mine.sock";
    const auto engine = machine.find();
    CHECK(engine.found);
    CHECK(engine.context.empty());
    CHECK(engine.url == "unix:///run/mine.sock");
    CHECK(engine.said_by == "DOCKER_HOST");
}

TEST_CASE("DOCKER_HOST with TLS brings the files of DOCKER_CERT_PATH") {
    Machine machine;
    const auto& folder = machine.config;
    for (const auto* const name : {"ca.pem", "cert.pem", "key.pem"}) {
        std::ofstream(folder.file(name)) << "x";
    }
    machine.variables["DOCKER_HOST"] = "tcp://127.0.0.1:2376";
    CHECK_FALSE(machine.find().tls.has_value());
    machine.variables["DOCKER_TLS_VERIFY"] = "1";
    REQUIRE(machine.find().tls.has_value());
    CHECK(machine.find().tls->ca.ends_with("/ca.pem"));
    CHECK(machine.find().lacks.empty());
}

TEST_CASE("files of TLS that are not there are named") {
    Machine machine;
    machine.variables["DOCKER_HOST"] = "tcp://127.0.0.1:2376";
    machine.variables["DOCKER_TLS_VERIFY"] = "1";
    machine.variables["DOCKER_CERT_PATH"] = "/nowhere";
    using Paths = std::vector<std::string>;
    CHECK(machine.find().lacks == Paths{"/nowhere/ca.pem", "/nowhere/cert.pem", "/nowhere/key.pem"});
    const TemporaryFolder folder;
    std::ofstream(folder.file("ca.pem")) << "x";
    std::ofstream(folder.file("key.pem")) << "x";
    machine.variables["DOCKER_CERT_PATH"] = folder.file("");
    REQUIRE(machine.find().lacks.size() == 1);
    CHECK(machine.find().lacks[0].ends_with("/cert.pem"));
}

TEST_CASE("Docker's socket that is not for us is told, whoever else answers") {
    Machine machine;
    machine.forbidden = {"/var/run/docker.sock", "/run/podman/podman.sock"};
    CHECK_FALSE(machine.find().found);
    CHECK(machine.find().denied == "/var/run/docker.sock");
    CHECK(machine.find().url == "unix:///var/run/docker.sock");
    machine.listening = {"/run/user/7/podman/podman.sock"};
    CHECK(machine.find().said_by == "rootless Podman");
    CHECK(machine.find().denied == "/var/run/docker.sock");
    machine.forbidden = {"/run/podman/podman.sock"}; // as for anybody but root
    CHECK(machine.find().denied.empty());
}

TEST_CASE("else the first socket that answers: Docker's, rootless Docker's, Podman's of the user, Podman's") {
    Machine machine;
    machine.listening = {"/var/run/docker.sock", "/run/user/7/docker.sock", "/run/user/7/podman/podman.sock",
                         "/run/podman/podman.sock"};
    for (const auto& [path, owner] : {std::pair("/var/run/docker.sock", "Docker"),
                                      {"/run/user/7/docker.sock", "rootless Docker"},
                                      {"/run/user/7/podman/podman.sock", "rootless Podman"},
                                      {"/run/podman/podman.sock", "Podman"}}) {
        const auto engine = machine.find();
        CHECK(engine.found);
        CHECK(engine.url == std::string("unix://") + path);
        CHECK(engine.said_by == owner);
        machine.listening.erase(path);
    }
    const auto none = machine.find();
    CHECK_FALSE(none.found);
    CHECK(none.url == "unix:///var/run/docker.sock");
    CHECK(none.looked_at.size() == 4);
}

} // namespace local_engine_test

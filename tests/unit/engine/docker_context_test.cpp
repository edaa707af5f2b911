// Contexts of the docker command line, read from its own files.
#include "client/engine/docker_context.hpp"
#include "fakes/tls_front.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace docker_context_test {

using namespace dockdist;
using Scheme = EngineAddress::Scheme;

namespace {

const std::string lab_id =
    "a51146d38077ff992eba84cf1d5e9b249073503eb74868699016153b031a38f7"; // SHA-256 of "lab"

struct Config {
    TemporaryFolder folder{};
    std::map<std::string, std::string> variables{{"DOCKER_CONFIG", folder.file("")}};

    Environment environment() const {
        return [this](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        };
    }
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = folder.file(name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    void write_lab(const std::string& endpoint) const {
        write("contexts/meta/" + lab_id + "/meta.json",
              R"({"Name":"lab","Endpoints":{"docker":)" + endpoint + "}}");
    }
    Result<DockerContext> load(const std::string& name) const {
        return load_docker_context(name, environment());
    }
};

} // namespace

TEST_CASE_FIXTURE(Config, "a context over ssh") {
    write_lab(R"({"Host":"ssh://ops@gpu-1","SkipTLSVerify":false})");
    const auto context = load("lab").value();
    CHECK(context.address.scheme == Scheme::ssh);
    CHECK(context.address.host == "gpu-1");
    CHECK_FALSE(context.tls.has_value());
}

TEST_CASE_FIXTURE(Config, "a context over TLS, with the files that it has") {
    write_lab(R"({"Host":"tcp://10.0.0.1:2376"})");
    CHECK(load("lab").value().address.scheme == Scheme::tcp);
    const auto tls = "contexts/tls/" + lab_id + "/docker/";
    write(tls + "ca.pem", "");
    CHECK(load("lab").value().address.scheme == Scheme::tls);
    CHECK(load("lab").value().tls == TlsFiles{folder.file(tls + "ca.pem"), "", ""});
    write(tls + "cert.pem", "");
    write(tls + "key.pem", "");
    CHECK(load("lab").value().tls->key == folder.file(tls + "key.pem"));
}

TEST_CASE_FIXTURE(Config, "a context that is not there, or names no engine, or an unsafe one") {
    CHECK(load("lab").error().message == "there is no context 'lab' in " + folder.file("contexts"));
    for (const auto* endpoint : {"7", "{}", R"({"Host":""})", R"({"Host":7})", "null"}) {
        write_lab(endpoint);
        CHECK(load("lab").error().message == "the context 'lab' names no Docker engine");
    }
    for (const auto* text : {"", "{", "[]", R"({"Endpoints":7})", "\xFF"}) {
        CHECK(parse_context_meta(text, "lab").has_error());
    }
    write_lab(R"({"Host":"tcp://h:1","SkipTLSVerify":true})");
    CHECK(load("lab").error().message.find("does not check the engine's certificate") != std::string::npos);
    write_lab(R"({"Host":"ssh://-oProxyCommand=x"})");
    CHECK(load("lab").error().message.find("is not a host name or address") != std::string::npos);
}

TEST_CASE_FIXTURE(Config, "the default context is what the environment says, or this machine") {
    CHECK(load("default").value().address.path == "/var/run/docker.sock");
    variables["DOCKER_HOST"] = "tcp://10.0.0.1:2376";
    CHECK(load("default").value().address.scheme == Scheme::tcp);
    variables["DOCKER_TLS_VERIFY"] = "1";
    write("certs/ca.pem", "");
    variables["DOCKER_CERT_PATH"] = folder.file("certs");
    const auto context = load("default").value();
    CHECK(context.address.scheme == Scheme::tls);
    CHECK(context.tls->ca == folder.file("certs/ca.pem"));
    variables.erase("DOCKER_TLS_VERIFY");
    variables["DOCKER_HOST"] = "gpu1:2375"; // as docker takes it
    CHECK(load("default").value().address.url == "tcp://gpu1:2375");
    variables["DOCKER_HOST"] = ":2375";
    CHECK(load("default").value().address.host == "127.0.0.1");
}

TEST_CASE_FIXTURE(Config, "the context that docker itself would use now") {
    CHECK(current_docker_context(environment()) == "default");
    write("config.json", R"({"currentContext":"lab"})");
    CHECK(current_docker_context(environment()) == "lab");
    variables["DOCKER_CONTEXT"] = "other";
    CHECK(current_docker_context(environment()) == "other");
    variables["DOCKER_HOST"] = "unix:///x";
    CHECK(current_docker_context(environment()) == "default");
    variables.clear();
    write("config.json", "nonsense");
    CHECK(current_docker_context(environment()) == "default");
}

} // namespace docker_context_test

#include "client/image/docker_config.hpp"
#include "shared/core/encode.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace docker_config_test {

using namespace dockdist;

namespace {

DockerConfig config_of(const std::string& json) {
    auto config = parse_docker_config(json);
    REQUIRE(config.has_value());
    return *config;
}

std::string refusal(const std::string& json) {
    const auto config = parse_docker_config(json);
    REQUIRE(config.has_error());
    CHECK(config.error().kind == ErrorKind::config);
    CHECK_FALSE(config.error().hint.empty());
    return config.error().message;
}

} // namespace

TEST_CASE("a login is read from `auth`, or from user and password") {
    // "alice:s:cret", whose password has a colon
    const auto config = config_of(R"({"auths": {
        "ghcr.io": {"auth": "YWxpY2U6czpjcmV0"},
        "https://index.docker.io/v1/": {"username": "bob", "password": "pw"},
        "quay.io": {}}})");
    CHECK(login_in_file(config, "ghcr.io") == RegistryLogin{.user = "alice", .password = "s:cret"});
    CHECK(login_in_file(config, "docker.io") == RegistryLogin{.user = "bob", .password = "pw"});
    CHECK_FALSE(login_in_file(config, "quay.io").has_value()); // what a credential store leaves there
    CHECK_FALSE(login_in_file(config, "example.com").has_value());
}

TEST_CASE("an older key that is an address names its registry too") {
    const auto config = config_of(R"({"auths": {"https://10.0.0.1:5000/v2/": {"auth": "YTpi"}}})");
    CHECK(login_in_file(config, "10.0.0.1:5000") == RegistryLogin{.user = "a", .password = "b"});
}

TEST_CASE("tokens are kept") {
    const auto config = config_of(R"({"auths": {"a.io": {"identitytoken": "refresh"},
        "b.io": {"registrytoken": "bearer"}}})");
    CHECK(login_in_file(config, "a.io") == RegistryLogin{.identity_token = "refresh"});
    CHECK(login_in_file(config, "b.io") == RegistryLogin{.registry_token = "bearer"});
}

TEST_CASE("a registry's own helper comes before the store of all") {
    const auto config = config_of(R"({"credsStore": "desktop", "credHelpers": {
        "gcr.io": "gcloud", "index.docker.io": "hub"}})");
    CHECK(helper_for(config, "gcr.io") == "gcloud");
    CHECK(helper_for(config, "docker.io") == "hub");
    CHECK(helper_for(config, "ghcr.io") == "desktop");
    CHECK(helper_for(config_of("{}"), "ghcr.io").empty());
    CHECK(helper_for(config_of(""), "ghcr.io").empty());
}

TEST_CASE("a malformed file is told, and its secrets are not") {
    CHECK(refusal("[]") == "it is not a JSON object");
    CHECK(refusal("{\"auths\"") == "it is not a JSON object");
    CHECK(refusal(R"({"auths": []})") == "`auths` is not an object");
    CHECK(refusal(R"({"auths": {"a.io": "secret"}})") ==
          "`auths` has something for a.io that is not an object");
    for (const char* auth : {"secret!", "c2VjcmV0", "OnNlY3JldA==", "=", "====", "YQ"}) {
        CAPTURE(auth);
        CHECK(refusal(std::string(R"({"auths": {"a.io": {"auth": ")") + auth + R"("}}})") ==
              "the `auth` of a.io is not base64 of USER:PASSWORD");
    }
    CHECK(config_of(R"({"auths": null, "credsStore": 3, "credHelpers": ["x"]})").store.empty());
}

TEST_CASE("a good file that is cut anywhere is refused, and its secrets are not told") {
    const std::string good = R"({"auths": {"ghcr.io": {"auth": "YWxpY2U6czpjcmV0"}}, "credsStore": "x"})";
    CHECK(parse_docker_config(good).has_value());
    for (std::size_t size = 1; size < good.size(); ++size) {
        CAPTURE(size);
        CHECK(refusal(good.substr(0, size)) == "it is not a JSON object");
    }
}

TEST_CASE("a helper's answer is a password, or a token") {
    CHECK(*parse_helper_answer(R"({"ServerURL":"x","Username":"alice","Secret":"pw"})") ==
          RegistryLogin{.user = "alice", .password = "pw"});
    CHECK(*parse_helper_answer(R"({"Username":"<token>","Secret":"refresh"})") ==
          RegistryLogin{.identity_token = "refresh"});
    for (const char* bad : {"", "pw", "{}", "[1]", R"({"Username":"a"})", R"({"Username":"a","Secret":1})"}) {
        CAPTURE(bad);
        CHECK(parse_helper_answer(bad).has_error());
    }
}

TEST_CASE("the header is base64url with padding of docker's JSON") {
    CHECK(to_base64url("") == "");
    CHECK(to_base64url("a") == "YQ==");
    CHECK(to_base64url("\xfb\xff\xfe") == "-__-");
    const auto header =
        registry_auth_header({.user = "alice", .password = "p\"w"}, "https://index.docker.io/v1/");
    CHECK(header.find_first_of("+/") == std::string::npos);
    std::string standard = header;
    for (auto& c : standard) {
        c = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    const auto json = nlohmann::json::parse(*from_base64(standard));
    CHECK(json == nlohmann::json{{"username", "alice"},
                                 {"password", "p\"w"},
                                 {"serveraddress", "https://index.docker.io/v1/"}});
}

TEST_CASE("a registry's name in an error has no controls") {
    const auto config = parse_docker_config("{\"auths\":{\"a\x7f.io\":{\"auth\":\"%\"}}}");
    REQUIRE(config.has_error());
    CHECK(config.error().message.find("a\\x7f.io") != std::string::npos);
}

TEST_CASE("proxies are those of the daemon or the default ones, as variables in both cases") {
    const auto config = config_of(R"({"proxies": {
        "default": {"httpProxy": "http://p", "noProxy": "a,b", "strange": "x"},
        "tcp://10.0.0.1:2375": {"httpsProxy": "http://q", "ftpProxy": "", "allProxy": 7},
        "tcp://10.0.0.2:2375": "nothing"}})");
    using Variables = std::map<std::string, std::string>;
    CHECK(proxies_for(config, "ssh://x") == Variables{{"http_proxy", "http://p"},
                                                      {"HTTP_PROXY", "http://p"},
                                                      {"no_proxy", "a,b"},
                                                      {"NO_PROXY", "a,b"}});
    CHECK(proxies_for(config, "tcp://10.0.0.1:2375") ==
          Variables{{"https_proxy", "http://q"}, {"HTTPS_PROXY", "http://q"}});
    CHECK(proxies_for(config, "tcp://10.0.0.2:2375").empty());
    CHECK(proxies_for(config_of("{}"), "ssh://x").empty());
    CHECK(config_of(R"({"proxies": [1]})").proxies.empty());
}

} // namespace docker_config_test

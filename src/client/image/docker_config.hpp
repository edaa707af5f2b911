// The credentials part of docker's config.json: pure, from text to who is asked for a registry's login.
#pragma once

#include "shared/core/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

struct RegistryLogin {
    std::string user{}, password{}; // never printed
    std::string identity_token{};   // stands for user and password
    std::string registry_token{};   // a bearer token, given to the registry as it is
    bool operator==(const RegistryLogin&) const = default;
};

struct DockerConfig {
    std::map<std::string, RegistryLogin> logins{}; // `auths`, by their keys as the file has them
    std::map<std::string, std::string> helpers{};  // `credHelpers`: registry → the X of docker-credential-X
    std::string store{};                           // `credsStore`
    // `proxies`: by daemon ("tcp://10.0.0.1:2375", "default") the variables that containers and builds get,
    // in both cases. Their values may hold passwords.
    std::map<std::string, std::map<std::string, std::string>> proxies{};
};

// Errors: config, without `where`; no message holds what the file says about a login.
Result<DockerConfig> parse_docker_config(std::string_view json);

// Of `proxies`, what containers of the daemon with that address get.
std::map<std::string, std::string> proxies_for(const DockerConfig& config, const std::string& daemon);

// The X of the docker-credential-X that is asked about a registry; empty: the file itself holds the logins.
std::string helper_for(const DockerConfig& config, const std::string& registry);
// The login that the file itself holds, by the registry's name or any form of its address.
std::optional<RegistryLogin> login_in_file(const DockerConfig& config, const std::string& registry);

// What `docker-credential-X get` printed.
Result<RegistryLogin> parse_helper_answer(std::string_view json);

// The value of X-Registry-Auth: base64url with padding.
std::string registry_auth_header(const RegistryLogin& login, const std::string& server);
// The value of X-Registry-Config, which a build is given: logins by config.json's keys of their registries.
std::string registry_config_header(const std::map<std::string, RegistryLogin>& logins);

} // namespace dockdist

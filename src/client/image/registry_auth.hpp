// The user's own login for the registry of an image: from DOCKER_AUTH_CONFIG, or docker's config.json and the
// credential helpers that it names.
#pragma once

#include "client/async/task.hpp"
#include "client/image/docker_config.hpp"
#include "shared/core/names.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace dockdist {

struct RegistryAuth {
    std::string header{};   // X-Registry-Auth; empty: nobody is logged in to that registry
    std::string registry{}; // "ghcr.io"
    std::string source{};   // where the login stands, or was looked for: "/root/.docker/config.json"
    std::string problem{};  // why none was found there, where that is not how it should be; with what to do
};

// What to do about a pull that the registry refused to that login; empty when the message is no such refusal.
std::string refused_login_hint(const std::string& message, const RegistryAuth& auth);

struct AuthSurroundings {
    std::function<std::optional<std::string>(const std::string&)> environment{};
    std::chrono::milliseconds helper_limit{60'000}; // a helper may ask the user
};

// docker's config.json; what cannot be read says nothing, which a pull tells of where it matters.
DockerConfig read_docker_config(const AuthSurroundings& surroundings);

// As docker does it, a file that cannot be read and a helper that fails are no login, and no error: public
// images need none. Errors: config (DOCKER_AUTH_CONFIG is malformed).
Task<Result<RegistryAuth>> find_registry_auth(boost::asio::any_io_executor executor, ImageRef image,
                                              AuthSurroundings surroundings);

// The same for a registry ("ghcr.io"), as it stands. A missing file, or one without that registry, is no
// error. Errors: config (the file is malformed, or cannot be read), and what a helper does wrong: not_found,
// timeout, engine; `where` is the file or the helper.
struct FoundLogin {
    std::optional<RegistryLogin> login{};
    std::string source{}; // as above
};
Task<Result<FoundLogin>> find_registry_login(boost::asio::any_io_executor executor, std::string registry,
                                             AuthSurroundings surroundings);

// The logins for all registries that the user is logged in to, as X-Registry-Config: nobody knows before a
// build what its Dockerfile pulls, and builders other than BuildKit do not ask. One whose helper fails is
// left out, and so is a file that cannot be read. Errors: config (DOCKER_AUTH_CONFIG is malformed).
Task<Result<std::string>> find_all_registry_auth(boost::asio::any_io_executor executor,
                                                 AuthSurroundings surroundings);

} // namespace dockdist

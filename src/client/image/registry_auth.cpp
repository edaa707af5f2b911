#include "client/image/registry_auth.hpp"

#include "client/async/child_process.hpp"
#include "client/image/docker_config.hpp"
#include "client/image/registry_name.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace dockdist {
namespace {

constexpr const char* given_name = "DOCKER_AUTH_CONFIG";
constexpr std::string_view not_in_the_keychain = "credentials not found in native keychain";

std::string config_file(const AuthSurroundings& surroundings) {
    if (const auto folder = surroundings.environment("DOCKER_CONFIG"); folder && !folder->empty()) {
        return *folder + "/config.json";
    }
    return surroundings.environment("HOME").value_or("") + "/.docker/config.json";
}

Result<DockerConfig> parse_at(std::string_view json, const std::string& where) {
    auto config = parse_docker_config(json);
    if (!config) {
        auto error = config.error();
        error.where = where;
        return error;
    }
    return config;
}

Result<DockerConfig> read_config(const std::string& path) {
    std::error_code missing;
    if (!std::filesystem::exists(path, missing)) {
        return DockerConfig{};
    }
    const auto text = read_regular_file(path);
    if (!text) {
        return Error{ErrorKind::config, path, "cannot be read",
                     "is it yours? docker's command line needs it, too"};
    }
    return parse_at(*text, path);
}

// A helper's name comes from a file: it may not lead out of PATH.
bool is_helper_name(const std::string& name) {
    return !name.empty() && name.find_first_of("/\\") == std::string::npos;
}

Task<Result<std::optional<RegistryLogin>>> ask_helper(boost::asio::any_io_executor executor, std::string name,
                                                      std::string file, std::string server,
                                                      std::chrono::milliseconds limit) {
    const auto program = "docker-credential-" + name;
    if (!is_helper_name(name)) {
        co_return Error{ErrorKind::config, file,
                        "`" + printable(name) + "` is not a credential helper's name", ""};
    }
    const auto answer = co_await run_and_read(executor, {program, "get"}, limit, server);
    if (!answer) {
        auto error = answer.error();
        error.where = program;
        if (error.kind == ErrorKind::not_found) {
            error.message = "this program is not there, and " + file + " names it";
            error.hint = "install it, or take it out of `credsStore` and `credHelpers` and log in again";
        } else if (error.kind == ErrorKind::timeout) {
            error.hint = "does it wait for something to be unlocked? `echo " + server + " | " + program +
                         " get` shows it";
        }
        co_return error;
    }
    const auto said =
        answer->output.find_first_not_of(" \r\n\t") == std::string::npos ? answer->complaint : answer->output;
    if (answer->exit_code != 0) {
        if (said.find(not_in_the_keychain) != std::string::npos) {
            co_return std::optional<RegistryLogin>();
        }
        co_return Error{ErrorKind::engine, program,
                        fmt::format("exited with {}: {}", answer->exit_code,
                                    printable(said.substr(0, std::min(said.find('\n'), std::size_t{300})))),
                        "log in again with `docker login " + registry_of_key(server) + "`"};
    }
    const auto login = parse_helper_answer(answer->output);
    if (!login) {
        auto error = login.error();
        error.where = program;
        error.hint = "`echo " + server + " | " + program + " get` shows it";
        co_return error;
    }
    co_return std::optional<RegistryLogin>(*login);
}

// What DOCKER_AUTH_CONFIG holds; empty where it is not set.
Result<DockerConfig> given_config(const AuthSurroundings& surroundings) {
    const auto given = surroundings.environment(given_name);
    return given && !given->empty() ? parse_at(*given, given_name) : DockerConfig{};
}

Task<Result<FoundLogin>> login_of(boost::asio::any_io_executor executor, DockerConfig config,
                                  std::string file, std::string registry, std::chrono::milliseconds limit) {
    FoundLogin found{.login = login_in_file(config, registry), .source = file};
    if (const auto helper = helper_for(config, registry); !helper.empty()) {
        auto told = co_await ask_helper(executor, helper, file, credentials_key(registry), limit);
        CO_TRY(told);
        found.login = std::move(*told);
        found.source = "docker-credential-" + helper;
    }
    co_return found;
}

} // namespace

DockerConfig read_docker_config(const AuthSurroundings& surroundings) {
    auto config = read_config(config_file(surroundings));
    return config ? std::move(*config) : DockerConfig{};
}

std::string refused_login_hint(const std::string& message, const RegistryAuth& auth) {
    const auto lower = to_lower(message);
    const auto says = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
    const auto login =
        auth.registry == docker_hub ? std::string("docker login") : "docker login " + auth.registry;
    if (says("toomanyrequests") || says("429 too many requests")) {
        return auth.header.empty()
                   ? fmt::format(
                         "the registry limits pulls without a login: `{}` on this machine, then again", login)
                   : "the registry limits pulls: wait, or let one host have it and `dockdist image push "
                     "--from HOST`";
    }
    if (!says("unauthorized") && !says("no basic auth credentials") && !says("access denied") &&
        !says("access to the resource is denied") && !says("access forbidden") && !says("401 ")) {
        return "";
    }
    if (!auth.problem.empty()) {
        return fmt::format("it was asked without a login for {}, as there was none: {}", auth.registry,
                           auth.problem);
    }
    return auth.header.empty()
               ? fmt::format("{} has no login for {}: `{}` on this machine, or check the image's name",
                             auth.source, auth.registry, login)
               : fmt::format("{} refused the login from {}: `{}` again, or check the image's name",
                             auth.registry, auth.source, login);
}

Task<Result<RegistryAuth>> find_registry_auth(boost::asio::any_io_executor executor, ImageRef image,
                                              AuthSurroundings surroundings) {
    const auto registry = registry_of(image);
    const auto found = co_await find_registry_login(executor, registry, std::move(surroundings));
    if (!found) {
        const auto& error = found.error();
        if (error.where == given_name) {
            co_return error;
        }
        co_return RegistryAuth{.registry = registry,
                               .source = error.where,
                               .problem = fmt::format("{}: {}{}{}", error.where, error.message,
                                                      error.hint.empty() ? "" : "; ", error.hint)};
    }
    RegistryAuth auth{.registry = registry, .source = found->source};
    if (found->login) {
        auth.header = registry_auth_header(*found->login, credentials_key(registry));
    }
    co_return auth;
}

Task<Result<FoundLogin>> find_registry_login(boost::asio::any_io_executor executor, std::string registry,
                                             AuthSurroundings surroundings) {
    const auto given = given_config(surroundings);
    CO_TRY(given);
    if (auto login = login_in_file(*given, registry)) {
        co_return FoundLogin{.login = std::move(login), .source = given_name};
    }
    const auto file = config_file(surroundings);
    const auto config = read_config(file);
    CO_TRY(config);
    co_return co_await login_of(executor, *config, file, registry, surroundings.helper_limit);
}

Task<Result<std::string>> find_all_registry_auth(boost::asio::any_io_executor executor,
                                                 AuthSurroundings surroundings) {
    const auto given = given_config(surroundings);
    CO_TRY(given);
    const auto file = config_file(surroundings);
    const auto read = read_config(file);
    const auto config = read ? *read : DockerConfig{};
    std::set<std::string> registries;
    for (const auto& [key, login] : config.logins) {
        registries.insert(registry_of_key(key));
    }
    for (const auto& [registry, helper] : config.helpers) {
        registries.insert(registry);
    }
    std::map<std::string, RegistryLogin> logins;
    for (const auto& registry : registries) {
        const auto found = co_await login_of(executor, config, file, registry, surroundings.helper_limit);
        if (found && found->login) {
            logins[credentials_key(registry)] = *found->login;
        }
    }
    for (const auto& [key, login] : given->logins) {
        logins[credentials_key(registry_of_key(key))] = login;
    }
    co_return registry_config_header(logins);
}

} // namespace dockdist

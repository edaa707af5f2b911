#include "client/image/docker_config.hpp"

#include "client/image/registry_name.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/proxies.hpp"
#include "shared/core/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

Error malformed(std::string what) {
    return {ErrorKind::config, "", std::move(what),
            "log in again with `docker login`, which writes the file again"};
}

std::string text_of(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Lines may be broken, and the padding may not be missing: as docker has it.
std::optional<std::string> decode_auth(std::string text) {
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
    return text.size() % 4 == 0 ? from_base64(text) : std::nullopt;
}

Result<RegistryLogin> parse_login(const std::string& key, const nlohmann::json& entry) {
    if (!entry.is_object()) {
        return malformed("`auths` has something for " + printable(key) + " that is not an object");
    }
    RegistryLogin login{.user = text_of(entry, "username"),
                        .password = text_of(entry, "password"),
                        .identity_token = text_of(entry, "identitytoken"),
                        .registry_token = text_of(entry, "registrytoken")};
    if (const auto encoded = text_of(entry, "auth"); !encoded.empty()) {
        const auto decoded = decode_auth(encoded);
        const auto colon = decoded ? decoded->find(':') : std::string::npos;
        if (colon == std::string::npos || colon == 0) {
            return malformed("the `auth` of " + printable(key) + " is not base64 of USER:PASSWORD");
        }
        login.user = decoded->substr(0, colon);
        login.password = decoded->substr(colon + 1);
        while (login.password.ends_with('\0')) { // as docker does
            login.password.pop_back();
        }
    }
    return login;
}

std::map<std::string, std::map<std::string, std::string>> parse_proxies(const nlohmann::json& config) {
    constexpr std::array<std::pair<const char*, std::string_view>, 5> keys{{{"httpProxy", "http_proxy"},
                                                                            {"httpsProxy", "https_proxy"},
                                                                            {"ftpProxy", "ftp_proxy"},
                                                                            {"allProxy", "all_proxy"},
                                                                            {"noProxy", no_proxy_variable}}};
    std::map<std::string, std::map<std::string, std::string>> proxies;
    const auto found = config.find("proxies");
    if (found == config.end() || !found->is_object()) {
        return proxies;
    }
    for (const auto& [daemon, said] : found->items()) {
        auto& variables = proxies[daemon];
        for (const auto& [key, name] : keys) {
            const auto value = said.is_object() ? text_of(said, key) : "";
            if (!value.empty() && value.find('\0') == std::string::npos) {
                variables[std::string(name)] = value;
                variables[in_capitals(name)] = value;
            }
        }
    }
    return proxies;
}

bool is_empty(const RegistryLogin& login) {
    return login == RegistryLogin{};
}

} // namespace

Result<DockerConfig> parse_docker_config(std::string_view json) {
    DockerConfig config;
    if (std::ranges::all_of(json, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; })) {
        return config;
    }
    const auto value = nlohmann::json::parse(json, nullptr, false);
    if (!value.is_object()) {
        return malformed("it is not a JSON object");
    }
    config.store = text_of(value, "credsStore");
    if (const auto helpers = value.find("credHelpers"); helpers != value.end() && helpers->is_object()) {
        for (const auto& [registry, helper] : helpers->items()) {
            if (helper.is_string()) {
                config.helpers[registry] = helper.get<std::string>();
            }
        }
    }
    config.proxies = parse_proxies(value);
    const auto auths = value.find("auths");
    if (auths == value.end() || auths->is_null()) {
        return config;
    }
    if (!auths->is_object()) {
        return malformed("`auths` is not an object");
    }
    for (const auto& [key, entry] : auths->items()) {
        auto login = parse_login(key, entry);
        TRY(login);
        config.logins[key] = std::move(*login);
    }
    return config;
}

std::map<std::string, std::string> proxies_for(const DockerConfig& config, const std::string& daemon) {
    auto found = config.proxies.find(daemon);
    found = found == config.proxies.end() ? config.proxies.find("default") : found;
    return found == config.proxies.end() ? std::map<std::string, std::string>() : found->second;
}

std::string helper_for(const DockerConfig& config, const std::string& registry) {
    if (const auto exact = config.helpers.find(credentials_key(registry)); exact != config.helpers.end()) {
        return exact->second;
    }
    for (const auto& [key, helper] : config.helpers) {
        if (registry_of_key(key) == registry) {
            return helper;
        }
    }
    return config.store;
}

std::optional<RegistryLogin> login_in_file(const DockerConfig& config, const std::string& registry) {
    const auto exact = config.logins.find(credentials_key(registry));
    if (exact != config.logins.end() && !is_empty(exact->second)) {
        return exact->second;
    }
    for (const auto& [key, login] : config.logins) {
        if (registry_of_key(key) == registry && !is_empty(login)) {
            return login;
        }
    }
    return std::nullopt;
}

Result<RegistryLogin> parse_helper_answer(std::string_view json) {
    const auto value = nlohmann::json::parse(json, nullptr, false);
    if (!value.is_object() || text_of(value, "Secret").empty()) {
        return Error{ErrorKind::protocol, "", "its answer is not the JSON of a credential helper", ""};
    }
    const auto user = text_of(value, "Username");
    if (user == "<token>") {
        return RegistryLogin{.identity_token = text_of(value, "Secret")};
    }
    return RegistryLogin{.user = user, .password = text_of(value, "Secret")};
}

namespace {

nlohmann::json login_json(const RegistryLogin& login, const std::string& server) {
    nlohmann::json json{{"serveraddress", server}};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            json[name] = value;
        }
    };
    add("username", login.user);
    add("password", login.password);
    add("identitytoken", login.identity_token);
    add("registrytoken", login.registry_token);
    return json;
}

std::string as_header(const nlohmann::json& json) {
    return to_base64url(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace

std::string registry_auth_header(const RegistryLogin& login, const std::string& server) {
    return as_header(login_json(login, server));
}

std::string registry_config_header(const std::map<std::string, RegistryLogin>& logins) {
    auto json = nlohmann::json::object();
    for (const auto& [server, login] : logins) {
        json[server] = login_json(login, server);
    }
    return as_header(json);
}

} // namespace dockdist

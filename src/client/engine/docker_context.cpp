#include "client/engine/docker_context.hpp"

#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view default_name = "default";

std::string variable(const Environment& environment, const char* name) {
    return environment(name).value_or(std::string());
}

fs::path config_folder(const Environment& environment) {
    const auto named = variable(environment, "DOCKER_CONFIG");
    return named.empty() ? fs::path(variable(environment, "HOME")) / ".docker" : fs::path(named);
}

Error wrong(std::string message, std::string hint) {
    return {ErrorKind::config, "", std::move(message), std::move(hint)};
}

// Of the three files those that are there; nothing without any.
std::optional<TlsFiles> tls_files(const fs::path& folder) {
    TlsFiles files;
    std::error_code ignored;
    const auto take = [&](const char* name, std::string& into) {
        if (fs::exists(folder / name, ignored)) {
            into = (folder / name).string();
        }
    };
    take("ca.pem", files.ca);
    take("cert.pem", files.cert);
    take("key.pem", files.key);
    return files == TlsFiles{} ? std::nullopt : std::optional(files);
}

Result<DockerContext> with_tls(const std::string& url, std::optional<TlsFiles> tls) {
    auto address = parse_engine_address(url);
    TRY(address);
    DockerContext context{std::move(*address), std::nullopt};
    if (tls && context.address.scheme == EngineAddress::Scheme::tcp) {
        context.address.scheme = EngineAddress::Scheme::tls;
        context.tls = std::move(tls);
    }
    return context;
}

Result<DockerContext> default_context(const Environment& environment) {
    const auto host = docker_host(environment);
    if (host.empty()) {
        return with_tls("unix:///var/run/docker.sock", std::nullopt);
    }
    std::optional<TlsFiles> tls;
    if (!variable(environment, "DOCKER_TLS_VERIFY").empty()) {
        tls = tls_files(docker_tls_folder(environment)).value_or(TlsFiles{});
    }
    return with_tls(host, std::move(tls));
}

} // namespace

Result<ContextMeta> parse_context_meta(std::string_view json, const std::string& name) {
    const auto document = nlohmann::json::parse(json, nullptr, false);
    const auto endpoint = nlohmann::json::json_pointer("/Endpoints/docker");
    Error damaged = wrong(fmt::format("the context '{}' names no Docker engine", printable(name)),
                          "`docker context inspect` shows what it holds");
    if (!document.is_object() || !document.contains(endpoint) || !document[endpoint].is_object()) {
        return damaged;
    }
    const auto& docker = document[endpoint];
    if (!docker.contains("Host") || !docker["Host"].is_string() ||
        docker["Host"].get_ref<const std::string&>().empty()) {
        return damaged;
    }
    ContextMeta meta{.host = docker["Host"].get<std::string>()};
    meta.skip_tls_verify = docker.contains("SkipTLSVerify") && docker["SkipTLSVerify"].is_boolean() &&
                           docker["SkipTLSVerify"].get<bool>();
    return meta;
}

Result<DockerContext> load_docker_context(const std::string& name, const Environment& environment) {
    if (name == default_name) {
        return default_context(environment);
    }
    const auto folder = config_folder(environment) / "contexts";
    const auto id = sha256_hex(name);
    const auto text = read_regular_file(folder / "meta" / id / "meta.json");
    if (!text) {
        return wrong(fmt::format("there is no context '{}' in {}", printable(name), folder.string()),
                     "`docker context ls` lists them");
    }
    const auto meta = parse_context_meta(*text, name);
    TRY(meta);
    if (meta->skip_tls_verify) {
        return wrong(fmt::format("the context '{}' does not check the engine's certificate (skip-tls-verify)",
                                 printable(name)),
                     "dockdist always does: give the context the engine's CA (docker context update)");
    }
    return with_tls(meta->host, tls_files(folder / "tls" / id / "docker"));
}

std::string docker_host(const Environment& environment) {
    auto host = variable(environment, "DOCKER_HOST");
    if (host.empty() || host.find("://") != std::string::npos) {
        return host;
    }
    return "tcp://" + (host.starts_with(':') ? "127.0.0.1" + host : host);
}

std::string docker_tls_folder(const Environment& environment) {
    const auto named = variable(environment, "DOCKER_CERT_PATH");
    return named.empty() ? config_folder(environment).string() : named;
}

std::string current_docker_context(const Environment& environment) {
    if (!variable(environment, "DOCKER_HOST").empty()) {
        return std::string(default_name);
    }
    if (const auto named = variable(environment, "DOCKER_CONTEXT"); !named.empty()) {
        return named;
    }
    const auto text = read_regular_file(config_folder(environment) / "config.json");
    const auto document = nlohmann::json::parse(text.value_or(std::string()), nullptr, false);
    if (document.is_object() && document.contains("currentContext") &&
        document["currentContext"].is_string()) {
        const auto name = document["currentContext"].get<std::string>();
        return name.empty() ? std::string(default_name) : name;
    }
    return std::string(default_name);
}

} // namespace dockdist

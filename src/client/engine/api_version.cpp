#include "client/container/engine_words.hpp"
#include "client/engine/engine_error.hpp"
#include "client/engine/engine_session.hpp"
#include "client/engine/json_decode.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

std::optional<ApiVersion> parse_version(std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) {
        return std::nullopt;
    }
    const auto number = [](std::string_view digits) -> std::optional<int> {
        const auto value = whole_number<int>(digits);
        return value && *value >= 0 ? value : std::nullopt;
    };
    const auto major = number(text.substr(0, dot));
    const auto minor = number(text.substr(dot + 1));
    return major && minor ? std::optional(ApiVersion{*major, *minor}) : std::nullopt;
}

} // namespace

Result<ApiVersion> agree_on_version(const HttpResponse& ping, bool of_user) {
    const auto header = find_header(ping.headers, "Api-Version");
    const bool podman = !find_header(ping.headers, libpod_header).empty();
    const auto& words = words_of(podman, of_user);
    if (ping.body.find("HTTP request to an HTTPS server") != std::string::npos ||
        ping.body.find("plain HTTP request was sent to HTTPS port") != std::string::npos) {
        return Error{ErrorKind::protocol, "", "the engine speaks TLS, but was contacted without it",
                     "give the host its `tls:` files (ca, cert, key); port 2376 is Docker's port for TLS, "
                     "2375 the one without"};
    }
    constexpr auto request = "GET /_ping";
    if (!authorization_hint(decode_error_message(ping.body), request).empty()) {
        return engine_error(ping, {.what = "greet the engine", .request = request});
    }
    if (header.empty()) {
        const auto server = find_header(ping.headers, "Server");
        return Error{
            ErrorKind::protocol, "",
            fmt::format("what answers there is not a Docker engine (it answered /_ping with status {}{})",
                        ping.status,
                        server.empty() ? std::string()
                                       : fmt::format(", server '{}'", printable(server.substr(0, 60)))),
            "check the address and the port; Docker's ports are 2375, and 2376 with TLS"};
    }
    if (ping.status != 200) {
        const auto message = decode_error_message(ping.body);
        return Error{
            ErrorKind::engine, "",
            fmt::format("the engine is unhealthy: /_ping answered with status {}: {}", ping.status, message),
            fmt::format("look at its status and log on that host ({})", words.log)};
    }
    const auto version = parse_version(header);
    if (!version) {
        return Error{
            ErrorKind::protocol, "",
            fmt::format("the engine's API version '{}' is not a version", printable(header.substr(0, 40))),
            ""};
    }
    if (*version < oldest_api) {
        return Error{
            ErrorKind::engine, "",
            fmt::format("the engine speaks API {}, and dockdist needs {} or newer", to_string(*version),
                        to_string(oldest_api)),
            fmt::format("upgrade {} on that host to {} or newer", words.name, podman ? "4.3" : "19.03")};
    }
    return std::min(*version, newest_api);
}

std::string libpod_version_of(const HttpResponse& ping) {
    const std::string header(find_header(ping.headers, libpod_header));
    if (header.empty()) {
        return {};
    }
    const auto parts = split(header.substr(0, header.find('-')), '.'); // "5.5.0-dev"
    const bool is_version = parts.size() == 3 && std::ranges::all_of(parts, [](const std::string& part) {
                                return part.size() <= 3 && whole_number<int>(part).value_or(-1) >= 0;
                            });
    return is_version ? fmt::format("{}.{}.{}", parts[0], parts[1], parts[2])
                      : "4.0.0"; // which every Podman of today speaks
}

} // namespace dockdist

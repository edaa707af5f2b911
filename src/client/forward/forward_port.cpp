#include "client/forward/forward_port.hpp"

#include "shared/core/ip_address.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

constexpr int highest = 65535;
constexpr std::size_t longest_host_name = 255;

std::optional<int> port_number(std::string_view text, int least) {
    const auto number = whole_number<int>(text);
    return number && *number >= least && *number <= highest ? number : std::nullopt;
}

bool is_host(std::string_view text) {
    return !text.empty() && text.size() <= longest_host_name && text.front() != '-' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == '_' || c == ':';
           });
}

// "HOST:PORT", the host in brackets where it has colons itself.
std::optional<wire::TunnelTarget> host_and_port(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    auto host = text.substr(0, colon);
    const auto port = port_number(text.substr(colon + 1), 1);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    host = bracketed ? host.substr(1, host.size() - 2) : host;
    if (!port || !is_host(host) || (!bracketed && host.find(':') != std::string_view::npos)) {
        return std::nullopt;
    }
    return wire::TunnelTarget{.host = std::string(host), .port = *port};
}

} // namespace

Result<ForwardPort> parse_forward_port(std::string_view text, const std::string& option) {
    const auto colon = text.find(':');
    const auto first = text.substr(0, colon);
    const auto rest = colon == std::string_view::npos ? first : text.substr(colon + 1);
    const auto local = port_number(first, colon == std::string_view::npos ? 1 : 0);
    if (const auto port = port_number(rest, 1); local && port) {
        return ForwardPort{.local = *local, .target = {.host = "", .port = *port}};
    }
    if (auto target = host_and_port(rest); local && colon != std::string_view::npos && target) {
        return ForwardPort{.local = *local, .target = std::move(*target)};
    }
    return Error{
        ErrorKind::usage, option, "`" + printable(text) + "` is not a port to forward",
        "write 8888, or 8080:8888 (here : there), 8080:HOST:5432 for what the node reaches, 0:8888 for any "
        "free port here"};
}

std::string forward_port_text(const ForwardPort& port) {
    const auto& host = port.target.host;
    return fmt::format("{}:{}", port.local,
                       host.empty() ? std::to_string(port.target.port)
                                    : address_and_port(host, port.target.port));
}

std::string target_text(const wire::TunnelTarget& target, const std::string& node) {
    return target.host.empty()
               ? fmt::format("{} port {}", node, target.port)
               : fmt::format("{} port {} as {} sees it", printable(target.host), target.port, node);
}

std::string failure_text(const wire::TunnelFailure& failure, const wire::TunnelTarget& target,
                         const std::string& node) {
    using Kind = wire::TunnelFailure::Kind;
    const auto host = printable(target.host);
    const auto words = printable(failure.message);
    switch (failure.kind) {
    case Kind::refused:
        return target.host.empty()
                   ? fmt::format(
                         "nothing listens on port {0} of {1}'s loopback yet (what listens on another address "
                         "there is reached by PORT:ADDRESS:{0})",
                         target.port, node)
                   : fmt::format("{} refuses {} on port {}: nothing listens there", host, node, target.port);
    case Kind::unknown_name:
        return fmt::format("{} does not know the name {}: {}", node, host, words);
    case Kind::timeout:
        return target.host.empty()
                   ? fmt::format(
                         "what listens on port {} of {}'s loopback accepts no connections: it may hang",
                         target.port, node)
                   : fmt::format("{} port {} does not answer {}: a firewall may drop it", host, target.port,
                                 node);
    case Kind::unreachable:
        return target.host.empty()
                   ? fmt::format("{} cannot reach port {} of its own loopback: {}", node, target.port, words)
                   : fmt::format("{} cannot reach {} port {}: {}", node, host, target.port, words);
    case Kind::too_many:
        return "a connection was closed: " + words;
    case Kind::no_socket: // a path is never asked for here
    case Kind::denied:
    case Kind::other:
        break;
    }
    return fmt::format("{} cannot connect to port {}{}: {}", node, target.port,
                       host.empty() ? "" : " of " + host, words);
}

} // namespace dockdist

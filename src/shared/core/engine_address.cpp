#include "shared/core/engine_address.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

constexpr const char* forms =
    "write unix:///var/run/docker.sock, tcp://HOST:2376 or ssh://USER@HOST; inside a Slurm allocation also "
    "srun://NODE or srun+podman://NODE";

// A URL that may hold a password, as it may be shown.
std::string shown(std::string_view url) {
    const auto begin = url.find("://");
    const auto at = url.rfind('@');
    if (begin == std::string_view::npos || at == std::string_view::npos || at < begin ||
        url.substr(begin + 3, at - begin - 3).find(':') == std::string_view::npos) {
        return printable(url);
    }
    return printable(url.substr(0, begin + 3)) + "…" + printable(url.substr(at));
}

Error wrong(std::string_view url, std::string_view what, std::string_view hint = forms) {
    return {ErrorKind::config, "", fmt::format("engine address '{}': {}", shown(url), what),
            std::string(hint)};
}

bool alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Names, IPv4 and (without brackets) IPv6 addresses; what no shell, ssh or resolver can read as anything
// else.
bool is_host(std::string_view text) {
    return !text.empty() && text.size() <= 253 && text.front() != '-' &&
           std::ranges::all_of(text, [](char c) { return alnum(c) || c == '-' || c == '.' || c == '_'; });
}

bool is_ipv6(std::string_view text) {
    const auto zone = text.find('%'); // fe80::1%eth0
    const auto digits = text.substr(0, zone);
    const auto colons = std::ranges::count(digits, ':');
    const bool zone_fits =
        zone == std::string_view::npos || (zone + 1 < text.size() && is_host(text.substr(zone + 1)));
    return zone_fits && colons >= 2 && colons <= 7 && std::ranges::all_of(digits, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                      c == ':' || c == '.';
           });
}

bool is_user(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text.front() != '-' && std::ranges::all_of(text, [](char c) {
        return alnum(c) || c == '-' || c == '.' || c == '_' || c == '+' || c == '@' || c == '\\' || c == '$';
    });
}

std::optional<Port> parse_port(std::string_view text) {
    const auto number = whole_number<std::uint16_t>(text);
    return number.value_or(0) == 0 ? std::nullopt : std::optional(Port{*number});
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(text,
                               [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F; });
}

// Takes "/path" off the end of `rest`.
Status take_path(std::string_view url, std::string_view& rest, EngineAddress& address) {
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        const auto path = rest.substr(slash);
        if (path != "/") {
            if (address.scheme == EngineAddress::Scheme::tcp) {
                return wrong(url, "a path has no meaning here", "write tcp://HOST:PORT");
            }
            if (address.scheme == EngineAddress::Scheme::srun_podman) {
                return wrong(url, "a path has no meaning here: the socket is dockdist's own",
                             "write srun+podman://NODE; srun://NODE/PATH for a socket that is there already");
            }
            if (path.size() > 107) {
                return wrong(url, "the path is longer than a unix socket may have (107 bytes)");
            }
            address.path = std::string(path);
        }
        rest = rest.substr(0, slash);
    }
    return ok;
}

// Takes "user@" off its beginning.
Status take_user(std::string_view url, std::string_view& rest, EngineAddress& address) {
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        const auto user = rest.substr(0, at);
        if (address.scheme == EngineAddress::Scheme::tcp) {
            return wrong(url, "a user has no meaning here", "write tcp://HOST:PORT");
        }
        if (address.by_srun()) {
            return wrong(url, "a user has no meaning here: a step runs as the one whose allocation it is",
                         fmt::format("write {}NODE", url.substr(0, url.find("://") + 3)));
        }
        if (user.find(':') != std::string_view::npos) {
            return wrong(url, "a password in the address is refused",
                         "use a key or an agent, and write ssh://USER@HOST");
        }
        if (!is_user(user)) {
            return wrong(url, fmt::format("'{}' is not a user name", printable(user)));
        }
        address.user = std::string(user);
        rest = rest.substr(at + 1);
    }
    return ok;
}

// What is left is the node's name.
Status take_slurm_node(std::string_view url, std::string_view& rest, EngineAddress& address) {
    if (rest.empty()) {
        return wrong(url, "it names no node");
    }
    if (!is_host(rest)) {
        return wrong(url,
                     fmt::format("'{}' is not the name of a node of Slurm; a port has no meaning here",
                                 printable(rest)),
                     "`scontrol show hostnames` lists the nodes of the allocation");
    }
    address.host = std::string(rest);
    return ok;
}

// What is left is "host", "host:port" or "[IPv6]:port".
Status take_host_and_port(std::string_view url, std::string_view& rest, EngineAddress& address) {
    std::string_view port;
    bool has_port = false;
    if (rest.starts_with('[')) {
        const auto close = rest.find(']');
        if (close == std::string_view::npos || !is_ipv6(rest.substr(1, close - 1))) {
            return wrong(url, "the address in brackets is not IPv6");
        }
        address.host = std::string(rest.substr(1, close - 1));
        rest = rest.substr(close + 1);
        if (!rest.empty()) {
            if (rest.front() != ':') {
                return wrong(url, "after ']' only a port may follow");
            }
            port = rest.substr(1);
            has_port = true;
        }
    } else {
        if (std::ranges::count(rest, ':') > 1) {
            return wrong(url, "an IPv6 address needs brackets",
                         fmt::format("write {}[…]:{}", url.substr(0, url.find("://") + 3),
                                     address.port.number == 0 ? 22 : address.port.number));
        }
        if (const auto separator = rest.find(':'); separator != std::string_view::npos) {
            port = rest.substr(separator + 1);
            has_port = true;
            rest = rest.substr(0, separator);
        }
        if (rest.empty()) {
            return wrong(url, "it names no host");
        }
        if (!is_host(rest)) {
            return wrong(url, fmt::format("'{}' is not a host name or address", printable(rest)));
        }
        address.host = std::string(rest);
    }
    if (has_port) {
        const auto number = parse_port(port);
        if (!number) {
            return wrong(url, fmt::format("'{}' is not a port (1 to 65535)", printable(port)),
                         "write a number after the last ':'");
        }
        address.port = *number;
    }
    return ok;
}

} // namespace

Result<EngineAddress> parse_engine_address(std::string_view url) {
    using Scheme = EngineAddress::Scheme;
    if (has_control(url)) {
        return wrong(url, "it holds a space or a control character");
    }
    const auto colon = url.find("://");
    if (colon == std::string_view::npos) {
        return wrong(url, "it has no scheme");
    }
    EngineAddress address;
    address.url = std::string(url);
    const auto scheme = url.substr(0, colon);
    auto rest = url.substr(colon + 3);
    if (scheme == "unix") {
        if (!rest.starts_with('/')) {
            return wrong(url, "a unix socket needs an absolute path",
                         "write unix:///var/run/docker.sock (three slashes)");
        }
        if (rest.size() > 107) {
            return wrong(url, "the path is longer than a unix socket may have (107 bytes)",
                         "link it to a shorter path");
        }
        address.path = std::string(rest);
        return address;
    }
    if (scheme == "tcp") {
        address.scheme = Scheme::tcp;
        address.port = Port{2375};
    } else if (scheme == "ssh") {
        address.scheme = Scheme::ssh;
    } else if (scheme == "srun") {
        address.scheme = Scheme::srun;
    } else if (scheme == "srun+podman") {
        address.scheme = Scheme::srun_podman;
    } else if (scheme == "https" || scheme == "http") {
        return wrong(url, fmt::format("the scheme {}:// is not known", printable(scheme)),
                     "write tcp://HOST:PORT, with `tls:` for TLS");
    } else if (scheme == "npipe" || scheme == "fd") {
        return wrong(url, fmt::format("the scheme {}:// is not supported", scheme));
    } else {
        return wrong(url, fmt::format("the scheme {}:// is not known", printable(scheme)));
    }

    if (rest.find_first_of("?#") != std::string_view::npos) {
        return wrong(url, "a query or fragment has no meaning here");
    }
    for (const auto take : {take_path, take_user, address.by_srun() ? take_slurm_node : take_host_and_port}) {
        TRY(take(url, rest, address));
    }
    return address;
}

} // namespace dockdist

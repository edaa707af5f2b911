#include "shared/wire/ready_probe.hpp"

#include "shared/core/ip_address.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

constexpr std::string_view http_scheme = "http://";
constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::size_t longest_path = 2048;
constexpr std::size_t longest_status_line = 1024;

Error no_probe(std::string_view text, std::string hint) {
    return {ErrorKind::usage, "--ready",
            "`" + printable(std::string(text)) + "` does not say what is to answer", std::move(hint)};
}

} // namespace

std::string ReadyProbe::address(const std::string& node) const {
    return std::string(http ? http_scheme : tcp_scheme) + address_and_port(node, port);
}

std::string ReadyProbe::text() const {
    return std::string(http ? http_scheme : tcp_scheme) + ":" + std::to_string(port) + path;
}

Result<ReadyProbe> parse_ready_probe(std::string_view text) {
    constexpr auto* how = "write it like http://:8000/health or tcp://:8000";
    ReadyProbe probe;
    auto rest = text;
    if (rest.starts_with(http_scheme)) {
        probe.http = true;
        rest.remove_prefix(http_scheme.size());
    } else if (rest.starts_with(tcp_scheme)) {
        rest.remove_prefix(tcp_scheme.size());
    } else {
        return no_probe(text, text.starts_with("https://")
                                  ? "of a service with TLS the port alone is asked: tcp://:8000"
                                  : how);
    }
    if (!rest.starts_with(':')) {
        return no_probe(text,
                        std::string("the job's first node asks itself, so there is no host in it: ") + how);
    }
    rest.remove_prefix(1);
    const auto slash = std::min(rest.find('/'), rest.size());
    probe.port = whole_number<std::uint16_t>(rest.substr(0, slash)).value_or(0);
    rest.remove_prefix(slash);
    if (probe.port == 0) {
        return no_probe(text, how);
    }
    // It becomes a line of the request.
    const bool plain = std::ranges::all_of(rest, [](char c) { return c > ' ' && c < '\x7f'; });
    if (!plain || rest.size() > longest_path || (!probe.http && !rest.empty())) {
        return no_probe(text, how);
    }
    probe.path = probe.http && rest.empty() ? "/" : std::string(rest);
    return probe;
}

int http_status(std::string_view bytes) {
    constexpr std::string_view protocol = "HTTP/1.";
    constexpr std::size_t code_at = 9; // "HTTP/1.1 200"
    constexpr std::size_t code_size = 3;
    if (!bytes.starts_with(protocol.substr(0, bytes.size()))) {
        return -1;
    }
    if (bytes.find('\n') == std::string_view::npos) {
        return bytes.size() < longest_status_line ? 0 : -1;
    }
    const auto status = bytes.size() < code_at + code_size
                            ? std::nullopt
                            : whole_number<int>(bytes.substr(code_at, code_size));
    return status && *status >= 100 ? *status : -1;
}

} // namespace dockdist::wire

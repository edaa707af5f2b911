#include "node/relay/relay_http.hpp"

#include "core/ascii.hpp"
#include "core/encode.hpp"
#include "wire/image_relay.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <linux/tcp.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_head = 16 * 1024;
constexpr int connect_limit_ms = 3000;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    return text;
}

struct Addresses {
    addrinfo* first = nullptr;
    Addresses() = default;
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;
    ~Addresses() {
        if (first != nullptr) {
            ::freeaddrinfo(first);
        }
    }
};

// A machine that is gone is noticed within about ten seconds; one whose own upstream is slow is not
// disturbed.
void keep_alive(int fd) {
    const auto set = [&](int level, int name, int value) {
        ::setsockopt(fd, level, name, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
}

ssize_t receive(int fd, std::span<char> into) {
    ssize_t count = 0;
    do {
        count = ::recv(fd, into.data(), into.size(), 0);
    } while (count < 0 && errno == EINTR);
    return count;
}

Error went_away(const std::string& upstream) {
    return {ErrorKind::unreachable, "", "the relay at " + upstream + " went away", ""};
}

Result<Fd> connect_to(const std::string& upstream) {
    const auto blank = upstream.find(' ');
    Error error{ErrorKind::unreachable, "", "cannot reach the relay at " + upstream, ""};
    if (blank == std::string::npos) {
        return error;
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    Addresses found;
    if (::getaddrinfo(upstream.substr(0, blank).c_str(), upstream.substr(blank + 1).c_str(), &hints,
                      &found.first) != 0) {
        return error;
    }
    for (const auto* each = found.first; each != nullptr; each = each->ai_next) {
        Fd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd.open()) {
            continue;
        }
        if (::connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) {
            continue;
        }
        pollfd wait{fd.get(), POLLOUT, 0};
        int failure = 0;
        socklen_t size = sizeof failure;
        if (::poll(&wait, 1, connect_limit_ms) != 1 ||
            ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0 || failure != 0) {
            continue;
        }
        ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
        keep_alive(fd.get());
        return fd;
    }
    return error;
}

} // namespace

std::optional<RelayHttpRequest> parse_relay_http(std::string_view head) {
    const auto first_end = head.find("\r\n");
    const auto line = head.substr(0, first_end);
    const auto one = line.find(' ');
    const auto two = line.rfind(' ');
    if (first_end == std::string_view::npos || one == std::string_view::npos || two == one ||
        !line.substr(two + 1).starts_with("HTTP/1.")) {
        return std::nullopt;
    }
    RelayHttpRequest request{.method = std::string(line.substr(0, one)),
                             .path = std::string(line.substr(one + 1, two - one - 1))};
    head.remove_prefix(first_end + 2);
    while (!head.empty() && !head.starts_with("\r\n")) {
        const auto end = head.find("\r\n");
        const auto header = head.substr(0, end);
        const auto colon = header.find(':');
        if (end == std::string_view::npos || colon == std::string_view::npos) {
            return std::nullopt;
        }
        const auto name = to_lower(header.substr(0, colon));
        const auto value = trimmed(header.substr(colon + 1));
        if (name == "authorization") {
            request.authorization = value;
        } else if (name == "content-length" && value != "0") {
            return std::nullopt; // nobody has a body to give
        } else if (name == "range") {
            constexpr std::string_view unit = "bytes=";
            const auto* begin = value.data() + std::min(unit.size(), value.size());
            const auto* value_end = value.data() + value.size();
            const auto [stop, wrong] = std::from_chars(begin, value_end, request.offset);
            if (!value.starts_with(unit) || wrong != std::errc{} || request.offset < 0 || stop == value_end ||
                *stop != '-') {
                return std::nullopt;
            }
        }
        head.remove_prefix(end + 2);
    }
    return request;
}

std::string blob_in_path(std::string_view path) {
    constexpr std::string_view blobs = "/blobs/";
    const auto at = path.rfind(blobs);
    return path.starts_with("/v2/") && at != std::string_view::npos
               ? std::string(path.substr(at + blobs.size()))
               : std::string();
}

bool is_manifest_path(std::string_view path) {
    return path.starts_with("/v2/") && path.find("/manifests/") != std::string_view::npos;
}

std::string relay_authorization(std::string_view token) {
    return "Basic " + to_base64(std::string(wire::relay_user) + ":" + std::string(token));
}

bool same_secret(std::string_view a, std::string_view b) {
    unsigned differs = a.size() == b.size() ? 0U : 1U;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    }
    return differs == 0;
}

std::optional<std::string> read_head(int connection) {
    std::string head;
    std::array<char, 4096> buffer{};
    // Byte by byte would do, too: nothing follows a head but the next one, after our answer.
    while (head.find("\r\n\r\n") == std::string::npos) {
        const auto count = receive(connection, buffer);
        if (count <= 0) {
            return std::nullopt;
        }
        head.append(buffer.data(), static_cast<std::size_t>(count));
        if (head.front() == '\x16' || head.size() > longest_head) { // engines try TLS first
            return std::nullopt;
        }
    }
    return head;
}

Result<RelayAnswer> ask_relay(const std::string& upstream, const std::string& path, std::int64_t offset,
                              std::string_view token) {
    auto connection = connect_to(upstream);
    if (!connection) {
        return connection.error();
    }
    const auto request = "GET " + path +
                         " HTTP/1.1\r\nHost: relay\r\nAuthorization: " + relay_authorization(token) +
                         "\r\nRange: bytes=" + std::to_string(offset) + "-\r\n\r\n";
    if (const auto sent = write_all(connection->get(), request); !sent) {
        return sent.error();
    }
    std::string bytes;
    std::array<char, 4096> buffer{};
    auto end = std::string::npos;
    while ((end = bytes.find("\r\n\r\n")) == std::string::npos && bytes.size() <= longest_head) {
        const auto count = receive(connection->get(), buffer);
        if (count <= 0) {
            return went_away(upstream);
        }
        bytes.append(buffer.data(), static_cast<std::size_t>(count));
    }
    if (end == std::string::npos ||
        !(bytes.starts_with("HTTP/1.1 200") || bytes.starts_with("HTTP/1.1 206"))) {
        return Error{ErrorKind::protocol, "", "the relay at " + upstream + " refused", ""};
    }
    bytes.erase(0, end + 4);
    return RelayAnswer{std::move(*connection), std::move(bytes)};
}

Status read_from_relay(const std::string& upstream, const std::string& digest, std::int64_t offset,
                       std::string_view token, const std::function<Status(std::string_view)>& take) {
    const auto answer = ask_relay(upstream, "/v2/image/blobs/" + digest, offset, token);
    if (!answer) {
        return answer.error();
    }
    std::string_view piece = answer->begin;
    std::vector<char> buffer(256 * 1024);
    while (true) {
        if (!piece.empty()) {
            if (const auto taken = take(piece); !taken) {
                return taken;
            }
        }
        const auto count = receive(answer->connection.get(), buffer);
        if (count <= 0) {
            return went_away(upstream);
        }
        piece = {buffer.data(), static_cast<std::size_t>(count)};
    }
}

Fd listen_on(const std::string& address, int& port) {
    port = 0;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    Addresses found;
    if (address.empty() || ::getaddrinfo(address.c_str(), "0", &hints, &found.first) != 0) {
        return {};
    }
    Fd fd(::socket(found.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (!fd.open() || ::bind(fd.get(), found.first->ai_addr, found.first->ai_addrlen) != 0 ||
        ::listen(fd.get(), 64) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
        return {};
    }
    port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return fd;
}

} // namespace dockdist::node

#include "node/system/port_reservation.hpp"

#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr int first_port = 20000;
constexpr int port_count = 10000;

int first_place(const std::string& job) {
    std::uint32_t hash = 0x811c9dc5U; // FNV-1a
    for (const char c : job) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    }
    return static_cast<int>(hash % port_count);
}

// Bound, or a closed one where the machine has no such addresses; nothing when the port is taken.
std::optional<Fd> bind_any(int family, int port) {
    Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.open()) {
        return errno == EAFNOSUPPORT ? std::optional<Fd>(std::in_place) : std::nullopt;
    }
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    const auto* address =
        family == AF_INET ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    if (constexpr int on = 1; family == AF_INET6) {
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (::bind(fd.get(), address, family == AF_INET ? sizeof v4 : sizeof v6) == 0) {
        return fd;
    }
    return errno == EADDRNOTAVAIL ? std::optional<Fd>(std::in_place) : std::nullopt;
}

std::optional<ReservedPort> reserve(int number) {
    ReservedPort port{.number = number};
    for (const int family : {AF_INET, AF_INET6}) {
        auto fd = bind_any(family, number);
        if (!fd) {
            return std::nullopt;
        }
        if (fd->open()) {
            port.held.push_back(std::move(*fd));
        }
    }
    // Only now: with it, the bind would have shared the port with whoever has it the same way.
    for (const auto& fd : port.held) {
        constexpr int on = 1;
        ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    return port.held.empty() ? std::nullopt : std::optional(std::move(port));
}

} // namespace

Result<std::vector<ReservedPort>> reserve_ports(const std::string& job, int count) {
    std::vector<ReservedPort> ports;
    const int first = first_place(job);
    for (int i = 0; i < port_count && ports.size() < static_cast<std::size_t>(count); ++i) {
        if (auto port = reserve(first_port + (first + i) % port_count)) {
            ports.push_back(std::move(*port));
        }
    }
    if (ports.size() < static_cast<std::size_t>(count)) {
        return Error{.kind = ErrorKind::node,
                     .message = "this machine has no " + std::to_string(count) +
                                " free TCP ports between 20000 and 29999",
                     .hint = "stop jobs that are no longer needed (`dockdist jobs` lists them)"};
    }
    return ports;
}

Result<std::vector<ReservedPort>> reserve_these_ports(const std::vector<int>& numbers) {
    std::vector<ReservedPort> ports;
    for (const int number : numbers) {
        auto port = reserve(number);
        if (!port) {
            return Error{.kind = ErrorKind::conflict,
                         .message = "TCP port " + std::to_string(number) +
                                    ", which this job was given, is not free any more",
                         .hint = "run the command again"};
        }
        ports.push_back(std::move(*port));
    }
    return ports;
}

} // namespace dockdist::node

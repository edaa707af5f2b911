#include "node/system/port_reservation.hpp"

#include "node/system/network.hpp"
#include "shared/core/listening_sockets.hpp"

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

Fd hold(const std::string& address, int port, int shared) {
    const auto end = numeric_address(address, port);
    constexpr int on = 1;
    Fd fd(::socket(end.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool held =
        fd.open() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) == 0 &&
        (end.storage.ss_family != AF_INET6 ||
         ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&end.storage), end.length) == 0 &&
        // Only now: with it, the bind would have shared the port with whoever has it the same way.
        ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
    const int why = errno;
    if (!held) {
        fd.reset();
    }
    errno = why;
    return fd;
}

bool has_remains_of(int port) {
    return has_remains(read_file_or_empty("/proc/net/tcp"), port) ||
           has_remains(read_file_or_empty("/proc/net/tcp6"), port);
}

std::optional<ReservedPort> reserve(int number) {
    ReservedPort port{.number = number};
    for (const char* any : {"0.0.0.0", "::"}) {
        if (auto fd = hold_port(any, number); fd.open()) {
            port.held.push_back(std::move(fd));
        } else if (errno != EAFNOSUPPORT &&
                   errno != EADDRNOTAVAIL) { // else the machine has no such addresses
            return std::nullopt;
        }
    }
    return port.held.empty() ? std::nullopt : std::optional(std::move(port));
}

} // namespace

Fd hold_port(const std::string& address, int port) {
    return hold(address, port, 0);
}

Fd hold_port_beside_remains(const std::string& address, int port) {
    auto held = hold(address, port, 0);
    if (!held.open() && errno == EADDRINUSE) {
        held = has_remains_of(port) ? hold(address, port, 1) : Fd();
        errno = held.open() ? 0 : EADDRINUSE;
    }
    return held;
}

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
                     .message = "this machine does not have " + std::to_string(count) +
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
                                    ", which this job was given, is no longer free",
                         .hint = "run the command again"};
        }
        ports.push_back(std::move(*port));
    }
    return ports;
}

} // namespace dockdist::node

#include "node/relay/relay_socket.hpp"

#include "node/system/network.hpp"
#include "shared/core/ip_address.hpp"

#include <cerrno>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr int connect_limit_ms = 3000;

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

Error idle(const char* what, std::int64_t limit_ms) {
    return {ErrorKind::timeout, "", std::string(what) + " for " + std::to_string(limit_ms) + " ms", ""};
}

// False when it is not ready in time.
bool is_ready(int fd, short events, std::int64_t limit_ms) {
    const auto end = monotonic_ms() + limit_ms;
    pollfd wait{.fd = fd, .events = events, .revents = 0};
    while (true) {
        const auto left = end - monotonic_ms();
        const int ready = ::poll(&wait, 1, static_cast<int>(left > 0 ? left : 0));
        if (ready > 0 || (ready < 0 && errno != EINTR) || left <= 0) {
            return ready > 0;
        }
    }
}

} // namespace

Result<std::size_t> receive(int fd, std::span<char> into, std::int64_t limit_ms) {
    while (true) {
        const auto count = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
        if (count >= 0) {
            return static_cast<std::size_t>(count);
        }
        if (errno == EAGAIN && !is_ready(fd, POLLIN, limit_ms)) {
            return idle("nothing came", limit_ms);
        }
        if (errno != EAGAIN && errno != EINTR) {
            return system_error("cannot read", errno);
        }
    }
}

Status send_all(int fd, std::string_view bytes, std::int64_t idle_ms) {
    while (!bytes.empty()) {
        const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN && !is_ready(fd, POLLOUT, idle_ms)) {
            return idle("nothing was taken", idle_ms);
        } else if (errno != EAGAIN && errno != EINTR) {
            return system_error("cannot send", errno);
        }
    }
    return ok;
}

void keep_alive(int fd) {
    const auto set = [&](int level, int name, int value) {
        ::setsockopt(fd, level, name, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
    set(IPPROTO_TCP, TCP_NODELAY, 1); // messages are whole, and the next host waits for each
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
        if (!fd.open() ||
            (::connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS)) {
            continue;
        }
        int failure = 0;
        socklen_t size = sizeof failure;
        if (is_ready(fd.get(), POLLOUT, connect_limit_ms) &&
            ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0) {
            keep_alive(fd.get());
            return fd;
        }
    }
    return error;
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
    Fd fd(::socket(found.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    constexpr int backlog = 1024; // what a flood fills, the engine's own request stands behind
    if (!fd.open() || ::bind(fd.get(), found.first->ai_addr, found.first->ai_addrlen) != 0 ||
        ::listen(fd.get(), backlog) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
        return {};
    }
    port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return fd;
}

Result<Fd> listen_for_peers(const wire::RelayOpening& opening, wire::RelayMessage& listening) {
    const bool numeric = is_ip_address(opening.address);
    const bool placed = !opening.interface.empty() || (!numeric && !opening.subnets.empty());
    WantedEndpoint wanted;
    if (placed) {
        wanted = {.address = numeric ? opening.address : "",
                  .derived = true,
                  .interface = opening.interface,
                  .subnets = opening.subnets};
    } else {
        listening.address = opening.address;
        if (auto listener = listen_on(listening.address, listening.peer_port); listener.open()) {
            return listener;
        }
        wanted.default_address = default_address();
    }
    const auto chosen = choose_endpoint(wanted, interface_addresses());
    if (placed && !chosen) {
        return chosen.error();
    }
    listening.address = chosen ? chosen->address : wanted.default_address;
    return listen_on(listening.address, listening.peer_port);
}

} // namespace dockdist::node

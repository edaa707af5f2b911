#include "node/check/link_listener.hpp"

#include "node/check/link_socket.hpp"
#include "node/system/network.hpp"
#include "node/system/port_reservation.hpp"
#include "node/system/secret.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace dockdist::node {
namespace {

constexpr std::size_t most_strangers = 256; // connections without a token yet
constexpr std::int64_t token_limit_ms = 5000;
constexpr std::int64_t idle_limit_s = 30;

struct Stranger {
    Fd socket{};
    std::string said{};
    std::int64_t since_ms = monotonic_ms();
};

void serve(int fd, char what) {
    const timeval limit{.tv_sec = idle_limit_s, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    std::vector<char> bytes(1U << 20U);
    while (true) {
        // TCP throws away what MSG_TRUNC asks for without copying it.
        const auto count = ::recv(fd, bytes.data(), bytes.size(), what == link_discard ? MSG_TRUNC : 0);
        if (count <= 0) {
            return;
        }
        if (what == link_echo &&
            send_bytes(fd, {bytes.data(), static_cast<std::size_t>(count)}, 10000) != 0) {
            return;
        }
    }
}

// A process for each: they share nothing, and a fast link needs more than one core.
void hand_over(Fd socket, char what) {
    const int self = ::getpid();
    const auto child = ::fork();
    if (child == 0) {
        become_link_child(self);
        int flags = 0;
        ::ioctl(socket.get(), FIONBIO, &flags);
        serve(socket.get(), what);
        ::_exit(0);
    }
}

class LinkGreeter {
public:
    LinkGreeter(Fd listener, std::string token) : listener_(std::move(listener)), token_(std::move(token)) {}

    void run() {
        while (true) {
            std::vector<pollfd> ready{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
            for (const auto& stranger : strangers_) {
                ready.push_back({.fd = stranger.socket.get(), .events = POLLIN, .revents = 0});
            }
            if (::poll(ready.data(), ready.size(), strangers_.empty() ? -1 : 1000) < 0 && errno != EINTR) {
                return;
            }
            for (std::size_t i = strangers_.size(); i > 0; --i) {
                if (hear(strangers_[i - 1], ready[i].revents != 0)) {
                    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
                }
            }
            if (ready[0].revents != 0) {
                let_in();
            }
        }
    }

private:
    void let_in() {
        Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.open() && strangers_.size() < most_strangers) {
            strangers_.push_back({.socket = std::move(socket)});
        }
    }

    // True when it is one no longer.
    bool hear(Stranger& stranger, bool ready) const {
        if (!ready) {
            return monotonic_ms() - stranger.since_ms > token_limit_ms;
        }
        char bytes[wire::link_token_size + 1];
        const auto count = ::recv(stranger.socket.get(), bytes, sizeof bytes - stranger.said.size(), 0);
        if (count <= 0) {
            return count == 0 || (errno != EAGAIN && errno != EINTR);
        }
        stranger.said.append(bytes, static_cast<std::size_t>(count));
        if (stranger.said.size() <= wire::link_token_size) {
            return false;
        }
        const char what = stranger.said.back();
        stranger.said.pop_back();
        if (same_secret(stranger.said, token_) && (what == link_echo || what == link_discard)) {
            hand_over(std::move(stranger.socket), what);
        }
        return true;
    }

    Fd listener_;
    std::string token_;
    std::vector<Stranger> strangers_{};
};

Result<Fd> listen_on(const std::string& address, int port) {
    const auto at = numeric_address(address, port);
    Fd socket(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    constexpr int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at.length == 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.length) != 0 ||
        ::listen(socket.get(), 256) != 0) {
        return system_error("cannot listen on port " + std::to_string(port) + " of " + address, errno);
    }
    return socket;
}

} // namespace

Result<LinkListener> start_link_listener(const std::string& address, const std::string& token) {
    auto ports = reserve_ports(token, 1); // random, so that two checks seldom meet
    TRY(ports);
    const int port = ports->front().number;
    auto listener = listen_on(address, port);
    TRY(listener);
    ports->clear();
    const int self = ::getpid();
    const auto child = ::fork();
    if (child < 0) {
        return system_error("cannot start the links' listener", errno);
    }
    if (child == 0) {
        become_link_child(self);
        (void)std::signal(SIGCHLD, SIG_IGN); // its own children leave nothing behind
        LinkGreeter(std::move(*listener), token).run();
        ::_exit(0);
    }
    return LinkListener{.port = port, .pid = child};
}

} // namespace dockdist::node

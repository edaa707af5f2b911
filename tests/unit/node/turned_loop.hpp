// A loop whose time passes when the test says so, and the ends of sockets that the test holds.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/unix_socket.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dockdist::node {

struct TurnedLoop {
    std::int64_t now_ms = 1'000'000;
    Loop loop{[this] { return now_ms; }};

    // What is ready or due now, and what comes of it.
    void settle() {
        while (loop.turn(0)) {
        }
    }
    // Deadlines are met one after another, each at its own time.
    void pass(std::int64_t milliseconds) {
        const auto end = now_ms + milliseconds;
        settle();
        for (auto next = loop.next_deadline_ms(); next && *next <= end; next = loop.next_deadline_ms()) {
            now_ms = std::max(now_ms, *next);
            settle();
        }
        now_ms = end;
        settle();
    }
};

// The other end of a stream: a client's follower, or a member's link.
class Peer {
public:
    explicit Peer(Fd socket) : socket_(std::move(socket)) {}
    explicit Peer(const std::string& listener) {
        auto connected = connect_unix(listener, SOCK_STREAM);
        REQUIRE(connected.has_value());
        socket_ = std::move(*connected);
    }

    void say(const std::string& line) {
        const auto bytes = line + "\n";
        REQUIRE(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
    }
    // The lines that have come since, without the empty ones.
    std::vector<std::string> heard() {
        std::array<char, 65536> buffer{};
        for (auto count = receive(buffer); count > 0; count = receive(buffer)) {
            text_.append(buffer.data(), static_cast<std::size_t>(count));
        }
        std::vector<std::string> lines;
        for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            if (end > 0) {
                lines.push_back(text_.substr(0, end));
            }
            text_.erase(0, end + 1);
        }
        return lines;
    }
    bool is_closed() {
        char byte = 0;
        return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }
    void close() { socket_.reset(); }

private:
    ssize_t receive(std::array<char, 65536>& buffer) {
        return ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    }
    Fd socket_{};
    std::string text_{};
};

inline Fd listen_at(const std::string& path) {
    auto listener = listen_unix(path, SOCK_STREAM, 0600, {::geteuid(), ::getegid()});
    REQUIRE(listener.has_value());
    return std::move(*listener);
}

} // namespace dockdist::node

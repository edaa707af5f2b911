// A loop whose time passes when the test says so, and the ends of sockets that the test holds.
#pragma once

#include "node/system/fifo_door.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/unix_socket.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fcntl.h>
#include <optional>
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
    explicit Peer(Fd socket) : from_(std::move(socket)) {}
    explicit Peer(Pipe ends) : from_(std::move(ends.read)), to_(std::move(ends.write)) {}
    explicit Peer(const std::string& listener) {
        auto connected = connect_unix(listener, SOCK_STREAM);
        REQUIRE(connected.has_value());
        from_ = std::move(*connected);
    }
    // At a door of FIFOs, which it makes in `folder`.
    static std::optional<Peer> at_door(const std::string& door, const std::string& folder) {
        auto knock = Knock::at(door, folder, "test", KnockWith::words);
        if (!knock) {
            return std::nullopt;
        }
        Peer peer{Fd()};
        peer.door_ = door;
        peer.knock_ = std::move(*knock);
        return peer;
    }

    void say(const std::string& line) {
        const auto bytes = line + "\n";
        const int to = knock_ ? knock_->to() : to_.open() ? to_.get() : from_.get();
        REQUIRE(::write(to, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }
    // The lines that have come since, without the empty ones.
    std::vector<std::string> heard() {
        (void)receive_all();
        std::vector<std::string> lines;
        for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            if (end > 0) {
                lines.push_back(text_.substr(0, end));
            }
            text_.erase(0, end + 1);
        }
        return lines;
    }
    bool is_closed() { return receive_all(); }
    void close() {
        knock_.reset();
        from_.reset();
        to_.reset();
    }

private:
    // True at the end.
    bool receive_all() {
        const int from = knock_ ? knock_->from() : from_.get();
        pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
        if (knock_ && !knock_->was_heard()) {
            if (::poll(&ready, 1, 0) != 1) {
                return ::access(door_.c_str(), F_OK) != 0 ||
                       !Fd(::open(door_.c_str(), O_WRONLY | O_NONBLOCK)).open();
            }
            knock_->hear();
        }
        std::array<char, 65536> buffer{};
        while (::poll(&ready, 1, 0) == 1) {
            const auto count = ::read(from, buffer.data(), buffer.size());
            if (count <= 0) {
                return true;
            }
            text_.append(buffer.data(), static_cast<std::size_t>(count));
        }
        return false;
    }
    Fd from_{}, to_{}; // of a socket, the first alone
    std::optional<Knock> knock_{};
    std::string door_{};
    std::string text_{};
};

inline Fd door_at(const std::string& path) {
    auto door = FifoDoor::make(path, {::geteuid(), ::getegid()});
    REQUIRE(door.has_value());
    return std::move(*door);
}

inline Fd listen_at(const std::string& path) {
    auto listener = listen_unix(path, SOCK_STREAM, 0600, {::geteuid(), ::getegid()});
    REQUIRE(listener.has_value());
    return std::move(*listener);
}

} // namespace dockdist::node

#include "node/job/ready_watch.hpp"

#include "node/system/paths.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/wire/json_reader.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t ask_pause_ms = 500;
constexpr std::int64_t longest_answer_ms = 10000; // a model server may be busy with its first batch
constexpr const char* loopback = "127.0.0.1";

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

SocketAddress socket_address(const std::string& address, std::uint16_t port) {
    SocketAddress result;
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    if (::inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr) == 1) {
        ipv4->sin_family = AF_INET;
        ipv4->sin_port = htons(port);
        result.length = sizeof *ipv4;
    } else if (::inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr) == 1) {
        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = htons(port);
        result.length = sizeof *ipv6;
    }
    return result;
}

// Where nobody listens on a port that the kernel may give to whoever connects, it may give it to this very
// socket, which then meets itself.
bool has_met_itself(int socket) {
    sockaddr_storage own{};
    sockaddr_storage other{};
    socklen_t own_length = sizeof own;
    socklen_t other_length = sizeof other;
    return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
           ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_length) == 0 &&
           own_length == other_length && std::memcmp(&own, &other, own_length) == 0;
}

} // namespace

void ReadyWatch::begin(wire::ReadyProbe probe, std::string own_address) {
    end();
    probe_ = std::move(probe);
    places_ = {loopback, own_address};
    own_address_ = std::move(own_address);
    next_place_ = 0;
    told_status_ = 0;
    ask();
}

void ReadyWatch::end() {
    loop_.cancel(timer_);
    loop_.forget(socket_.get());
    socket_.reset();
}

void ReadyWatch::ask() {
    const auto to = socket_address(places_[next_place_], probe_.port);
    next_place_ = (next_place_ + 1) % places_.size();
    heard_.clear();
    connected_ = false;
    socket_ = Fd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.open() ||
        (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0 &&
         errno != EINPROGRESS)) {
        return ask_again();
    }
    loop_.watch(socket_.get(), POLLOUT, [this](short events) { happened(events); });
    timer_ = loop_.after(longest_answer_ms, [this] { ask_again(); });
}

void ReadyWatch::ask_again() {
    end();
    timer_ = loop_.after(ask_pause_ms, [this] { ask(); });
}

void ReadyWatch::happened(short events) {
    if (connected_) {
        return hear();
    }
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0 ||
        (events & POLLOUT) == 0 || has_met_itself(socket_.get())) {
        return ask_again();
    }
    connected_ = true;
    if (!probe_.http) {
        return answered(0);
    }
    const auto request = "GET " + probe_.path +
                         " HTTP/1.1\r\nHost: " + address_and_port(own_address_, probe_.port) +
                         "\r\nUser-Agent: dockdist\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    // It fits into a new socket's buffer.
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
        return ask_again();
    }
    loop_.want(socket_.get(), POLLIN);
}

void ReadyWatch::hear() {
    std::array<char, 1024> buffer{};
    const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        return ask_again();
    }
    heard_.append(buffer.data(), static_cast<std::size_t>(count));
    if (const int status = wire::http_status(heard_); status != 0) {
        answered(status);
    }
}

void ReadyWatch::answered(int status) {
    constexpr int first_good = 200;
    constexpr int first_other = 300;
    if (!probe_.http || (status >= first_good && status < first_other)) {
        end();
        return on_ready(probe_.address(own_address_));
    }
    if (status != told_status_) {
        told_status_ = status;
        on_note(probe_.text() +
                (status < 0 ? " is answered with something that is not HTTP"
                            : " is answered with " + std::to_string(status)) +
                ": the job is ready when it is 2xx");
    }
    ask_again();
}

std::optional<wire::ReadyProbe> asked_service(const wire::JobStart& start) {
    const auto& policy = start.policy;
    if (policy.ready.empty() || static_cast<std::size_t>(start.part) != wire::first_part(policy)) {
        return std::nullopt;
    }
    const auto probe = wire::parse_ready_probe(policy.ready);
    return probe ? std::optional(*probe) : std::nullopt;
}

std::string own_address() {
    std::string address;
    if (const auto record =
            wire::parse_object(read_file_or_empty(paths().node_record), "the node's record")) {
        wire::ObjectReader(*record, "the node's record").read("address", address);
    }
    return address.empty() ? loopback : address;
}

} // namespace dockdist::node

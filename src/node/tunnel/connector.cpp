#include "node/tunnel/connector.hpp"

#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/resolver.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/ip_address.hpp"

#include <cerrno>
#include <cstring>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

using Failure = wire::TunnelFailure::Kind;

Failure kind_of(int number) {
    switch (number) {
    case ECONNREFUSED:
        return Failure::refused;
    case ETIMEDOUT:
        return Failure::timeout;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EACCES:
    case EPERM:
        return Failure::unreachable;
    default:
        return Failure::other;
    }
}

Failure path_kind_of(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return Failure::no_socket;
    case EACCES:
    case EPERM:
        return Failure::denied;
    default:
        return kind_of(number);
    }
}

constexpr std::int64_t full_queue_pause_ms = 50; // nothing tells when a unix socket's queue has room again

} // namespace

Connector::Connector(Loop& loop, wire::TunnelTarget target, bool own_peers,
                     std::function<void(Outcome)> when_done)
    : loop_(loop), target_(std::move(target)), when_done_(std::move(when_done)), own_peers_(own_peers) {
    timer_ = loop_.after(0, [this] { begin(); }); // never from within the constructor
}

Connector::~Connector() {
    loop_.cancel(timer_);
    if (socket_.open()) {
        loop_.forget(socket_.get());
    }
}

void Connector::begin() {
    if (target_.is_path()) {
        until_ms_ = loop_.now_ms() + connect_limit_ms;
        return connect_path();
    }
    resolve();
}

// A unix socket connects at once, or not at all while its listener's queue is full.
void Connector::connect_path() {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (target_.host.size() >= sizeof to.sun_path) {
        return fail(Failure::other, "the path is too long");
    }
    target_.host.copy(to.sun_path, sizeof to.sun_path - 1);
    socket_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.open()) {
        return fail(Failure::other, std::strerror(errno));
    }
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        const int cause = errno;
        if (cause == EAGAIN && loop_.now_ms() < until_ms_) {
            timer_ = loop_.after(full_queue_pause_ms, [this] { connect_path(); });
            return;
        }
        return fail(cause == EAGAIN ? Failure::timeout : path_kind_of(cause), std::strerror(cause));
    }
    if (own_peers_ && !is_our_user(socket_.get())) {
        return fail(Failure::denied, "another user listens there");
    }
    tell({.socket = std::move(socket_)});
}

// This program is static: the image's own C library knows names that /etc/hosts does not hold.
void Connector::resolve() {
    if (target_.host.empty() || target_.host == "localhost") {
        addresses_ = {"127.0.0.1", "::1"}; // what listens there may have either
    } else if (is_ip_address(target_.host)) {
        addresses_ = {target_.host};
    } else if (auto found = addresses_in_hosts(read_file_or_empty(paths().hosts), target_.host);
               !found.empty()) {
        addresses_ = std::move(found);
    } else {
        auto getent = find_program("getent", Environment::own());
        if (getent.path.empty()) {
            return fail(Failure::unknown_name,
                        "/etc/hosts does not hold it, and the image has no getent to ask "
                        "others for it: write its address");
        }
        if (target_.host.front() == '-') { // musl's getent knows no "--"
            return fail(Failure::unknown_name, "it begins with a dash");
        }
        getent_ = std::make_unique<HelperRun>(
            loop_, ask_getent(std::move(getent), target_.host, Environment::own()), connect_limit_ms,
            [this](const Finished& answer) { take_names(answer); });
        return;
    }
    try_next();
}

void Connector::take_names(const Finished& answer) {
    const int code = answer.code;
    addresses_ = code == 0 ? parse_ahosts(answer.output) : std::vector<std::string>{};
    getent_.reset();
    if (addresses_.empty()) {
        return fail(Failure::unknown_name,
                    code < 0 ? "its name server does not answer" : "no address is known");
    }
    try_next();
}

void Connector::try_next() {
    while (next_ < addresses_.size()) {
        const auto to = numeric_address(addresses_[next_++], target_.port);
        socket_ = Fd(to.length == 0
                         ? -1
                         : ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket_.open()) {
            cause_ = cause_ == 0 ? (to.length == 0 ? EINVAL : errno) : cause_;
            continue;
        }
        constexpr int on = 1;
        ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) == 0) {
            return tell({.socket = std::move(socket_)});
        }
        if (errno == EINPROGRESS) {
            loop_.watch(socket_.get(), POLLOUT, [this](short) { look(); });
            timer_ = loop_.after(connect_limit_ms, [this] {
                cause_ = cause_ == 0 ? ETIMEDOUT : cause_;
                loop_.forget(socket_.get());
                try_next();
            });
            return;
        }
        cause_ = cause_ == 0 ? errno : cause_;
    }
    fail(kind_of(cause_), std::strerror(cause_));
}

void Connector::look() {
    loop_.cancel(timer_);
    loop_.forget(socket_.get());
    int cause = 0;
    socklen_t length = sizeof cause;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &cause, &length);
    if (cause == 0) {
        return tell({.socket = std::move(socket_)});
    }
    cause_ = cause_ == 0 ? cause : cause_;
    try_next();
}

void Connector::tell(Outcome outcome) {
    const auto when_done = when_done_; // it may destroy this object
    when_done(std::move(outcome));
}

void Connector::fail(Failure kind, std::string message) {
    socket_.reset();
    tell({.failure = {.kind = kind, .message = std::move(message)}});
}

} // namespace dockdist::node

#include "node/tunnel/connector.hpp"

#include "core/ip_address.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/resolver.hpp"

#include <cerrno>
#include <cstring>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

namespace dockdist::node {
namespace {

using Kind = wire::TunnelFailure::Kind;

Kind kind_of(int number) {
    switch (number) {
    case ECONNREFUSED:
        return Kind::refused;
    case ETIMEDOUT:
        return Kind::timeout;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EACCES:
    case EPERM:
        return Kind::unreachable;
    default:
        return Kind::other;
    }
}

} // namespace

Connector::Connector(Loop& loop, wire::TunnelTarget target, std::function<void(Outcome)> when_done)
    : loop_(loop), target_(std::move(target)), when_done_(std::move(when_done)) {
    timer_ = loop_.after(0, [this] { resolve(); }); // never from within the constructor
}

Connector::~Connector() {
    loop_.cancel(timer_);
    if (socket_.open()) {
        loop_.forget(socket_.get());
    }
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
        const auto getent = find_program("getent", Environment::own());
        if (getent.path.empty()) {
            return fail(Kind::unknown_name, "/etc/hosts does not hold it, and the image has no getent to ask "
                                            "others for it: write its address");
        }
        if (target_.host.front() == '-') { // musl's getent knows no "--"
            return fail(Kind::unknown_name, "it begins with a dash");
        }
        getent_ = std::make_unique<HelperRun>(
            loop_, getent.path, std::vector<std::string>{"getent", "ahosts", target_.host},
            Environment::own(), connect_limit_ms, [this](const Finished& answer) { take_names(answer); });
        return;
    }
    try_next();
}

void Connector::take_names(const Finished& answer) {
    const int code = answer.code;
    addresses_ = code == 0 ? parse_ahosts(answer.output) : std::vector<std::string>{};
    getent_.reset();
    if (addresses_.empty()) {
        return fail(Kind::unknown_name, code < 0 ? "its name server does not answer" : "no address is known");
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

void Connector::fail(Kind kind, std::string message) {
    socket_.reset();
    tell({.failure = {.kind = kind, .message = std::move(message)}});
}

} // namespace dockdist::node

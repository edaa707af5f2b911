#include "node/check/link_socket.hpp"

#include "node/system/network.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

using wire::LinkOutcome;

LinkOutcome outcome_of(int number) {
    switch (number) {
    case ECONNREFUSED:
        return LinkOutcome::refused;
    case ETIMEDOUT:
        return LinkOutcome::dropped;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EACCES:
    case EPERM:
        return LinkOutcome::unreachable;
    default:
        return LinkOutcome::failed;
    }
}

// 0, or errno.
int wait_for(int fd, short events, std::int64_t deadline_ms) {
    while (true) {
        const auto left = deadline_ms - monotonic_ms();
        if (left <= 0) {
            return ETIMEDOUT;
        }
        pollfd ready{.fd = fd, .events = events, .revents = 0};
        const int count = ::poll(&ready, 1, static_cast<int>(left));
        if (count > 0) {
            return 0;
        }
        if (count < 0 && errno != EINTR) {
            return errno;
        }
    }
}

bool again(ssize_t count) {
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

} // namespace

boost::system::result<Fd, LinkFailure> connect_link(const std::string& address, int port,
                                                    std::int64_t limit_ms) {
    const auto deadline = monotonic_ms() + limit_ms;
    const auto to = numeric_address(address, port);
    if (to.length == 0) {
        return LinkFailure{.outcome = LinkOutcome::failed, .number = EINVAL};
    }
    Fd socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    constexpr int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int cause = 0;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) {
        cause = errno == EINPROGRESS ? wait_for(socket.get(), POLLOUT, deadline) : errno;
        if (cause == 0) {
            socklen_t length = sizeof cause;
            ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &cause, &length);
        }
    }
    if (cause != 0) {
        return LinkFailure{.outcome = outcome_of(cause), .number = cause};
    }
    return socket;
}

int send_bytes(int fd, std::string_view bytes, std::int64_t limit_ms) {
    const auto deadline = monotonic_ms() + limit_ms;
    while (!bytes.empty()) {
        const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (again(count)) {
            if (const int cause = wait_for(fd, POLLOUT, deadline); cause != 0) {
                return cause;
            }
        } else if (count < 0) {
            return errno;
        } else {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    return 0;
}

int exchange(int fd, std::string_view bytes, std::int64_t limit_ms) {
    const auto deadline = monotonic_ms() + limit_ms;
    auto to_send = bytes;
    char taken[65536];
    while (!bytes.empty()) {
        // Both at a time: neither side's buffers need hold it all.
        if (!to_send.empty()) {
            const auto count = ::send(fd, to_send.data(), to_send.size(), MSG_NOSIGNAL);
            if (count < 0 && !again(count)) {
                return errno;
            }
            to_send.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
        const auto count = ::recv(fd, taken, std::min(bytes.size(), sizeof taken), 0);
        if (count == 0 ||
            (count > 0 && std::memcmp(taken, bytes.data(), static_cast<std::size_t>(count)) != 0)) {
            return EPROTO;
        }
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (!again(count)) {
            return errno;
        } else if (const int cause = wait_for(
                       fd, static_cast<short>(to_send.empty() ? POLLIN : POLLIN | POLLOUT), deadline);
                   cause != 0) {
            return cause;
        }
    }
    return 0;
}

void become_link_child(int parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(0);
    }
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::dup2(nothing.get(), stream);
    }
}

} // namespace dockdist::node

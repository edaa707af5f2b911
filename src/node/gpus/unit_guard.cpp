#include "node/gpus/unit_guard.hpp"

#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t rest_grace_ms = 2000;
constexpr std::int64_t stuck_pause_ms = 5000; // between attempts at what sleeps in the kernel

// One piece of text, with room for one descriptor beside it.
struct SocketMessage {
    explicit SocketMessage(std::string& text) : part{.iov_base = text.data(), .iov_len = text.size()} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
    }
    SocketMessage(const SocketMessage&) = delete;
    SocketMessage& operator=(const SocketMessage&) = delete;

    iovec part;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
};

bool send_with_descriptor(int socket, std::string text, int descriptor) {
    SocketMessage message(text);
    auto* rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return ::sendmsg(socket, &message.header, MSG_NOSIGNAL) >= 0;
}

} // namespace

Status guard_units(const std::string& job, int descriptor) {
    if (descriptor < 0) {
        return ok;
    }
    const auto channel = connect_unix(paths().init_socket, SOCK_SEQPACKET);
    if (!channel) {
        return ok;
    }
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(channel->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string answer(4096, '\0');
    ssize_t length = -1;
    if (send_with_descriptor(channel->get(), wire::dump({{"do", "guard"}, {"job", job}}), descriptor)) {
        length = ::recv(channel->get(), answer.data(), answer.size(), 0);
    }
    if (length <= 0) {
        return system_error("the container's first process does not guard this job's GPUs",
                            length == 0 ? ECONNRESET : errno);
    }
    return ok;
}

void tell_detached(const std::string& job) {
    if (const auto channel = connect_unix(paths().init_socket, SOCK_SEQPACKET)) {
        const auto text = wire::dump({{"do", "detached"}, {"job", job}});
        (void)::send(channel->get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
}

Received receive_with_descriptor(int socket, std::size_t limit) {
    Received received{.text = std::string(limit, '\0')};
    SocketMessage message(received.text);
    const auto count = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
    received.text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    const auto* rights = count > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
        received.descriptor = Fd(descriptor);
    }
    return received;
}

void UnitGuards::add(const std::string& job, pid_t supervisor, Fd lock) {
    guards_.push_back({.job = job, .supervisor = supervisor, .lock = std::move(lock)});
    if (::kill(supervisor, 0) != 0 && errno == ESRCH) {
        on_exit(supervisor);
    }
}

void UnitGuards::on_exit(pid_t pid) {
    for (auto& guard : guards_) {
        if (guard.supervisor == pid) {
            guard.supervisor = 0;
            end_the_rest(guard);
        }
    }
}

void UnitGuards::is_detached(const std::string& job) {
    for (auto& guard : guards_) {
        guard.detached = guard.detached || guard.job == job;
    }
}

void UnitGuards::stop_detached() const {
    for (const auto& guard : guards_) {
        if (guard.detached && guard.supervisor > 0) {
            ::kill(guard.supervisor, SIGTERM);
        }
    }
}

bool UnitGuards::has_detached() const {
    return std::ranges::any_of(guards_,
                               [](const Guard& guard) { return guard.detached && guard.supervisor > 0; });
}

void UnitGuards::end_the_rest(Guard& guard) {
    guard.killer = std::make_unique<ProcessKiller>(
        loop_, ProcessScope{.mark = guard.job}, [this, &guard](const std::vector<pid_t>& left) {
            // Later: this is called from the killer.
            loop_.after(left.empty() ? 0 : stuck_pause_ms, [this, &guard, done = left.empty()] {
                if (!done) {
                    return end_the_rest(guard);
                }
                guards_.remove_if([&](const Guard& one) { return &one == &guard; });
            });
        });
    guard.killer->begin(rest_grace_ms);
}

} // namespace dockdist::node

#include "node/job/rank/rank_channel.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace dockdist::node {

Status send_rank_message(int socket, const RankMessage& message, int out, int err) {
    RankMessage copy = message;
    iovec data{.iov_base = &copy, .iov_len = sizeof copy};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (out >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        auto* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
        const int descriptors[2] = {out, err};
        std::memcpy(CMSG_DATA(rights), descriptors, sizeof descriptors);
    }
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
        return system_error("cannot tell the job's supervisor", errno);
    }
    return ok;
}

Result<std::optional<ReceivedRankMessage>> receive_rank_message(int socket) {
    ReceivedRankMessage received;
    iovec data{.iov_base = &received.message, .iov_len = sizeof received.message};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const auto length = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return std::optional<ReceivedRankMessage>{};
    }
    for (auto* part = CMSG_FIRSTHDR(&header); length >= 0 && part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const auto count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
            Fd owned(descriptor);
            if (i < 2) {
                (i == 0 ? received.out : received.err) = std::move(owned);
            }
        }
    }
    if (length != static_cast<ssize_t>(sizeof received.message)) {
        return Error{.kind = ErrorKind::protocol, .message = "the rank's shim is gone"};
    }
    return std::optional<ReceivedRankMessage>(std::move(received));
}

} // namespace dockdist::node

#include "node/check/links.hpp"

#include "node/check/link_listener.hpp"
#include "node/check/link_socket.hpp"
#include "node/system/paths.hpp"
#include "node/system/side_by_side.hpp"
#include "shared/core/median.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <linux/tcp.h> // the C library's own knows nothing of acknowledged bytes
#include <netinet/in.h>
#include <poll.h>
#include <sys/wait.h>
#include <vector>

namespace dockdist::node {
namespace {

using wire::LinkMeeting;
using wire::LinkOutcome;
using wire::LinkPeer;

constexpr std::size_t most_connections_at_once = 32; // connections from one node
constexpr std::int64_t link_connect_limit_ms = 2000; // a lost SYN is sent again after 1 s
constexpr std::int64_t small_limit_ms = 2000;
constexpr std::int64_t large_limit_ms = 3000;
constexpr int round_trips = 12;
constexpr std::size_t large = 128U << 10U; // more than any MTU, and than what a path takes without an answer
constexpr std::int64_t gather_speed_ms = 400;
constexpr int meet_limit_ms = 65000; // the client waits for a minute (client/check/links.cpp)
constexpr int send_limit_ms = 10000; // beyond the time that is measured

std::string words_of(int number) {
    return number == 0 ? "" : std::strerror(number);
}

LinkMeeting ended(const LinkPeer& peer, LinkOutcome outcome, int number) {
    return {.node = peer.node, .outcome = outcome, .message = words_of(number)};
}

// The median; 0 where one got no answer, and errno then.
double small_round_trips(int fd, int& cause) {
    std::vector<double> times;
    for (int i = 0; i < round_trips && cause == 0; ++i) {
        const auto begin = monotonic_us();
        cause = exchange(fd, "0123456789abcdef", small_limit_ms);
        times.push_back(static_cast<double>(monotonic_us() - begin));
    }
    times.erase(times.begin()); // it waited for the peer's process
    return cause == 0 ? median(times) : 0;
}

LinkMeeting meet(const LinkPeer& peer, const std::string& token) {
    auto socket = connect_link(peer.address, peer.port, link_connect_limit_ms);
    if (!socket) {
        return ended(peer, socket.error().outcome, socket.error().number);
    }
    int cause = send_bytes(socket->get(), token + link_echo, small_limit_ms);
    const auto latency = cause == 0 ? small_round_trips(socket->get(), cause) : 0;
    if (cause != 0) {
        return ended(peer, LinkOutcome::silent, cause);
    }
    std::string bytes(large, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(i * 7 + i / 251);
    }
    cause = exchange(socket->get(), bytes, large_limit_ms);
    auto meeting = ended(peer, cause == 0 ? LinkOutcome::open : LinkOutcome::large_lost, cause);
    meeting.latency_us = latency;
    return meeting;
}

struct Acknowledged {
    std::uint64_t bytes = 0, segments = 0, sent_again = 0;
    std::int64_t at_us = monotonic_us();
};

Acknowledged acknowledged(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    return {.bytes = info.tcpi_bytes_acked,
            .segments = info.tcpi_data_segs_out,
            .sent_again = info.tcpi_total_retrans};
}

// 0, or errno: sends as fast as it goes.
int send_until(int fd, const std::vector<char>& bytes, std::int64_t end_ms) {
    for (auto now = monotonic_ms(); now < end_ms; now = monotonic_ms()) {
        pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(end_ms - now)) <= 0) {
            continue;
        }
        const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

Error not_sent(LinkOutcome outcome, int number) {
    return Error{.kind = ErrorKind::node,
                 .message = std::string(wire::to_string(outcome)) + ": " + words_of(number)};
}

Result<wire::LinksSend::Answer> send_stream(const LinkPeer& peer, const std::string& token, std::int64_t ms) {
    const auto begin = monotonic_ms();
    const auto socket = connect_link(peer.address, peer.port, link_connect_limit_ms);
    if (!socket) {
        return not_sent(socket.error().outcome, socket.error().number);
    }
    const int fd = socket->get();
    const std::vector<char> bytes(256U << 10U, 'x');
    const auto gathered = begin + std::min(gather_speed_ms, ms / 2);
    int cause = send_bytes(fd, token + link_discard, small_limit_ms);
    cause = cause == 0 ? send_until(fd, bytes, gathered) : cause;
    const auto first = acknowledged(fd);
    cause = cause == 0 ? send_until(fd, bytes, begin + ms) : cause;
    if (cause != 0) {
        return not_sent(LinkOutcome::failed, cause);
    }
    const auto last = acknowledged(fd);
    const auto gathered_us = std::max<std::int64_t>(last.at_us - first.at_us, 1);
    return wire::LinksSend::Answer{.bytes_per_second = static_cast<double>(last.bytes - first.bytes) * 1e6 /
                                                       static_cast<double>(gathered_us),
                                   .segments = last.segments,
                                   .sent_again = last.sent_again};
}

} // namespace

Result<wire::LinksListen::Answer> answer_links_listen(const wire::LinksListen& question) {
    static int listener = 0; // of this session
    const auto self = nlohmann::json::parse(read_file_or_empty(paths().node_record), nullptr, false);
    if (!self.is_object()) {
        return Error{.kind = ErrorKind::node,
                     .message = "this node has not joined its cluster",
                     .hint = "run `dockdist up`"};
    }
    if (listener != 0) {
        ::kill(listener, SIGKILL);
        int status = 0;
        ::waitpid(listener, &status, 0);
        listener = 0;
    }
    const auto started = start_link_listener(self.value("address", ""), question.token);
    TRY(started);
    listener = started->pid;
    return wire::LinksListen::Answer{.port = started->port};
}

Result<wire::LinksMeet::Answer> answer_links_meet(const wire::LinksMeet& question) {
    const auto met = shared_out(
        question.peers.size(), most_connections_at_once,
        [&](std::size_t i) { return meet(question.peers[i], question.token); }, meet_limit_ms);
    wire::LinksMeet::Answer answer;
    const auto read = wire::read_value(met, "what the meetings came to", answer.links);
    return read ? Result<wire::LinksMeet::Answer>(std::move(answer)) : read.error();
}

Result<wire::LinksSend::Answer> answer_links_send(const wire::LinksSend& question) {
    const auto count = static_cast<std::size_t>(question.streams);
    const auto sent = shared_out(
        count, count,
        [&](std::size_t) {
            return wire::partial_to_json(send_stream(question.peer, question.token, question.ms));
        },
        static_cast<int>(question.ms) + send_limit_ms);
    if (sent.size() < count) {
        return Error{.kind = ErrorKind::node, .message = "a stream did not end"};
    }
    wire::LinksSend::Answer total;
    for (const auto& stream : sent) {
        const auto one = wire::read_partial<wire::LinksSend::Answer>(stream, "what a stream came to");
        TRY(one);
        total.bytes_per_second += one->bytes_per_second;
        total.segments += one->segments;
        total.sent_again += one->sent_again;
    }
    return total;
}

} // namespace dockdist::node

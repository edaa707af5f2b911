#include "node/check/links.hpp"

#include "core/text.hpp"
#include "node/check/link_listener.hpp"
#include "node/check/link_socket.hpp"
#include "node/system/paths.hpp"
#include "node/system/side_by_side.hpp"
#include "wire/json_reader.hpp"

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

using nlohmann::json;

constexpr std::size_t most_connections_at_once = 32; // connections from one node
constexpr std::int64_t link_connect_limit_ms = 2000; // a lost SYN is sent again after 1 s
constexpr std::int64_t small_limit_ms = 2000;
constexpr std::int64_t large_limit_ms = 3000;
constexpr int round_trips = 12;
constexpr std::size_t large = 128U << 10U; // more than any MTU, and than what a path takes without an answer
constexpr int most_streams = 16;
constexpr std::int64_t gather_speed_ms = 400;
constexpr int meet_limit_ms = 65000; // the client waits for a minute (check/links.cpp)
constexpr int send_limit_ms = 10000; // beyond the time that is measured

struct LinkPeer {
    std::string node{}, address{};
    int port = 0;
};

json told(const LinkPeer& peer, LinkOutcome outcome, int number) {
    return {{"node", peer.node},
            {"outcome", to_string(outcome)},
            {"message", number == 0 ? "" : std::strerror(number)}};
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
    std::ranges::sort(times);
    return cause == 0 ? times[times.size() / 2] : 0;
}

json meet(const LinkPeer& peer, const std::string& token) {
    auto socket = connect_link(peer.address, peer.port, link_connect_limit_ms);
    if (!socket) {
        return told(peer, socket.error().outcome, socket.error().number);
    }
    int cause = send_bytes(socket->get(), token + link_echo, small_limit_ms);
    const auto latency = cause == 0 ? small_round_trips(socket->get(), cause) : 0;
    if (cause != 0) {
        return told(peer, LinkOutcome::silent, cause);
    }
    std::string bytes(large, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(i * 7 + i / 251);
    }
    cause = exchange(socket->get(), bytes, large_limit_ms);
    auto line = told(peer, cause == 0 ? LinkOutcome::open : LinkOutcome::large_lost, cause);
    line["latency_us"] = latency;
    return line;
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

json send_stream(const LinkPeer& peer, const std::string& token, std::int64_t ms) {
    const auto begin = monotonic_ms();
    const auto socket = connect_link(peer.address, peer.port, link_connect_limit_ms);
    if (!socket) {
        return told(peer, socket.error().outcome, socket.error().number);
    }
    const int fd = socket->get();
    const std::vector<char> bytes(256U << 10U, 'x');
    const auto gathered = begin + std::min(gather_speed_ms, ms / 2);
    int cause = send_bytes(fd, token + link_discard, small_limit_ms);
    cause = cause == 0 ? send_until(fd, bytes, gathered) : cause;
    const auto first = acknowledged(fd);
    cause = cause == 0 ? send_until(fd, bytes, begin + ms) : cause;
    if (cause != 0) {
        return told(peer, LinkOutcome::failed, cause);
    }
    const auto last = acknowledged(fd);
    auto line = told(peer, LinkOutcome::open, 0);
    line["bytes_per_second"] = static_cast<double>(last.bytes - first.bytes) * 1e6 /
                               static_cast<double>(std::max<std::int64_t>(last.at_us - first.at_us, 1));
    line["segments"] = last.segments;
    line["sent_again"] = last.sent_again;
    return line;
}

Result<std::string> read_token(wire::ObjectReader& reader) {
    std::string token;
    reader.require("token");
    reader.read("token", token);
    if (!reader.failed() && token.size() != link_token_size) {
        reader.fail("a token has 32 characters");
    }
    return reader.failed() ? Result<std::string>(reader.error()) : token;
}

LinkPeer read_peer(wire::ObjectReader& reader) {
    LinkPeer peer;
    reader.require("address");
    reader.require("port");
    reader.read("node", peer.node);
    reader.read("address", peer.address);
    reader.read("port", peer.port);
    if (!reader.failed() && (peer.port < 1 || peer.port > 65535)) {
        reader.fail("a port is from 1 to 65535");
    }
    return peer;
}

} // namespace

Result<wire::CheckAnswer> answer_links_listen(const json& question) {
    static int listener = 0; // of this session
    wire::ObjectReader reader(question, "the question for links-listen");
    const auto token = read_token(reader);
    if (!token) {
        return token.error();
    }
    const auto self = json::parse(read_file_or_empty(paths().node_record), nullptr, false);
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
    const auto started = start_link_listener(self.value("address", ""), *token);
    if (!started) {
        return started.error();
    }
    listener = started->pid;
    return wire::CheckAnswer{{{"port", started->port}}};
}

Result<wire::CheckAnswer> answer_links_meet(const json& question) {
    wire::ObjectReader reader(question, "the question for links-meet");
    const auto token = read_token(reader);
    if (!token) {
        return token.error();
    }
    reader.require("peers");
    const auto* list = reader.array("peers");
    if (list == nullptr) {
        return reader.error();
    }
    std::vector<LinkPeer> peers;
    for (const auto& one : *list) {
        wire::ObjectReader of_peer(one, "a peer of links-meet");
        peers.push_back(read_peer(of_peer));
        if (of_peer.failed()) {
            return of_peer.error();
        }
    }
    return wire::CheckAnswer{
        {{"links", shared_out(
                       peers.size(), most_connections_at_once,
                       [&](std::size_t i) { return meet(peers[i], *token); }, meet_limit_ms)}}};
}

Result<wire::CheckAnswer> answer_links_send(const json& question) {
    wire::ObjectReader reader(question, "the question for links-send");
    const auto token = read_token(reader);
    const auto peer = token ? read_peer(reader) : LinkPeer{};
    int streams = 1;
    std::int64_t ms = 2000;
    reader.read("streams", streams);
    reader.read("ms", ms);
    if (!reader.failed() && (streams < 1 || streams > most_streams || ms < 10 || ms > 60000)) {
        reader.fail("streams are 1 to 16, ms 10 to 60000");
    }
    if (reader.failed()) {
        return reader.error();
    }
    const auto count = static_cast<std::size_t>(streams);
    const auto sent = shared_out(
        count, count, [&](std::size_t) { return send_stream(peer, *token, ms); },
        static_cast<int>(ms) + send_limit_ms);
    if (sent.size() < count) {
        return Error{.kind = ErrorKind::node, .message = "a stream came to no end"};
    }
    double bytes_per_second = 0;
    std::uint64_t segments = 0;
    std::uint64_t sent_again = 0;
    for (const auto& line : sent) {
        if (!line.contains("bytes_per_second")) {
            return Error{.kind = ErrorKind::node,
                         .message = line.value("outcome", "") + ": " + line.value("message", "")};
        }
        bytes_per_second += line["bytes_per_second"].get<double>();
        segments += line["segments"].get<std::uint64_t>();
        sent_again += line["sent_again"].get<std::uint64_t>();
    }
    return wire::CheckAnswer{
        {{"bytes_per_second", bytes_per_second}, {"segments", segments}, {"sent_again", sent_again}}};
}

} // namespace dockdist::node

#include "node/boot/wait_for_peers.hpp"

#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t first_attempt_pause_ms = 20;
constexpr std::int64_t longest_attempt_pause_ms = 1000;
constexpr std::int64_t connect_ms = 5000; // a lost SYN is sent again after 1 and 3 s
// An sshd that was reached answers when it comes to it; to come again would be one more to wait for it.
constexpr std::int64_t banner_ms = 20'000;

struct Peer {
    const wire::NodeRecord* record = nullptr;
    Fd socket{};
    Loop::Timer timer = 0;
    std::int64_t pause_ms = first_attempt_pause_ms;
    int cause = ETIMEDOUT; // of the last attempt
    bool silent = false;   // it accepted and said nothing
    bool met = false;
};

class PeerWait {
public:
    PeerWait(const std::vector<wire::NodeRecord>& records, const wire::NodeRecord& self) : self_(self) {
        for (const auto& record : records) {
            auto peer = std::make_unique<Peer>();
            peer->record = &record;
            peers_.push_back(std::move(peer));
        }
    }

    std::optional<Unmet> run(std::int64_t timeout_ms) {
        missing_ = peers_.size();
        if (missing_ == 0) {
            return std::nullopt;
        }
        loop_.after(timeout_ms, [this] { loop_.stop(); });
        for (const auto& peer : peers_) {
            attempt(*peer);
        }
        loop_.run();
        return missing_ == 0 ? std::nullopt : std::optional(unmet());
    }

private:
    void attempt(Peer& peer);
    void on_ready(Peer& peer, bool connected);
    void fail(Peer& peer, int cause, bool silent = false);
    Unmet unmet() const;

    const wire::NodeRecord& self_;
    std::vector<std::unique_ptr<Peer>> peers_{};
    std::size_t missing_ = 0;
    Loop loop_{};
};

socklen_t to_sockaddr(const wire::NodeRecord& record, sockaddr_storage& storage) {
    const auto port = htons(static_cast<std::uint16_t>(record.ssh_port));
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, record.address.c_str(), &ipv4->sin_addr) == 1) {
        ipv4->sin_family = AF_INET;
        ipv4->sin_port = port;
        return sizeof *ipv4;
    }
    ::inet_pton(AF_INET6, record.address.c_str(), &ipv6->sin6_addr);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = port;
    return sizeof *ipv6;
}

void PeerWait::attempt(Peer& peer) {
    sockaddr_storage address{};
    const auto length = to_sockaddr(*peer.record, address);
    peer.socket = Fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(peer.socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 &&
        errno != EINPROGRESS) {
        return fail(peer, errno);
    }
    peer.timer = loop_.after(connect_ms, [this, &peer] { fail(peer, ETIMEDOUT); });
    loop_.watch(peer.socket.get(), POLLOUT, [this, &peer](short) { on_ready(peer, false); });
}

void PeerWait::on_ready(Peer& peer, bool connected) {
    if (!connected) {
        int cause = 0;
        socklen_t length = sizeof cause;
        ::getsockopt(peer.socket.get(), SOL_SOCKET, SO_ERROR, &cause, &length);
        if (cause != 0) {
            return fail(peer, cause);
        }
        peer.silent = true;
        loop_.cancel(peer.timer);
        peer.timer = loop_.after(banner_ms, [this, &peer] { fail(peer, ETIMEDOUT, true); });
        loop_.watch(peer.socket.get(), POLLIN, [this, &peer](short) { on_ready(peer, true); });
        return;
    }
    char banner[8] = "";
    const auto count = ::read(peer.socket.get(), banner, sizeof banner);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        return fail(peer, count < 0 ? errno : ECONNRESET, true);
    }
    if (count < 4 || std::memcmp(banner, "SSH-", 4) != 0) {
        return fail(peer, EPROTO, true);
    }
    loop_.forget(peer.socket.get());
    loop_.cancel(peer.timer);
    peer.socket.reset();
    peer.met = true;
    if (--missing_ == 0) {
        loop_.stop();
    }
}

void PeerWait::fail(Peer& peer, int cause, bool silent) {
    loop_.forget(peer.socket.get());
    loop_.cancel(peer.timer);
    peer.socket.reset();
    peer.cause = cause;
    peer.silent = silent;
    peer.timer = loop_.after(peer.pause_ms, [this, &peer] { attempt(peer); });
    peer.pause_ms = std::min(peer.pause_ms * 2, longest_attempt_pause_ms);
}

std::string cause_of(const Peer& peer) {
    if (peer.silent) {
        return peer.cause == EPROTO       ? "what answers there is not sshd"
               : peer.cause == ECONNRESET ? "it accepted the connection and closed it"
                                          : "it accepted the connection and said nothing";
    }
    return std::strerror(peer.cause);
}

Unmet PeerWait::unmet() const {
    Unmet unmet;
    std::string list;
    std::set<std::string> hints;
    for (const auto& peer : peers_) {
        if (peer->met) {
            continue;
        }
        const auto& record = *peer->record;
        const auto cause = cause_of(*peer);
        unmet.peers.push_back({.node = record.node, .cause = cause});
        list += (list.empty() ? "" : ", ") + record.node + " (" + record.address + ":" +
                std::to_string(record.ssh_port) + ": " + cause + ")";
        if (peer->cause == ECONNREFUSED) {
            hints.insert(
                "refused: sshd does not run there, or a firewall rejects the port; look at that node's log");
        } else if (peer->cause == ECONNRESET && peer->silent) {
            hints.insert(
                "closed: /etc/hosts.deny or hosts.allow in that node's image lets sshd take nothing from "
                "here, or another program holds that port on that host");
        } else if (peer->cause == EPROTO) {
            hints.insert(
                "another program holds that port on that host: set ssh.port to another one or to auto");
        } else {
            hints.insert(
                "no answer: a firewall drops TCP between the hosts, or the address is not the one that peers "
                "reach; set the host's `address`, open the ssh port between the hosts");
        }
    }
    unmet.error = {.kind = ErrorKind::unreachable, .message = self_.node + " cannot reach " + list};
    for (const auto& hint : hints) {
        unmet.error.hint += (unmet.error.hint.empty() ? "" : "; ") + hint;
    }
    return unmet;
}

} // namespace

std::optional<Unmet> wait_for_peers(const std::vector<wire::NodeRecord>& peers, const wire::NodeRecord& self,
                                    std::int64_t timeout_ms) {
    return PeerWait(peers, self).run(timeout_ms);
}

} // namespace dockdist::node

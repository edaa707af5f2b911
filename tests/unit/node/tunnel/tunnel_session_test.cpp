// The node's end of a tunnel, against real sockets of this machine's loopback.
#include "node/tunnel/tunnel_session.hpp"
#include "unit/node/turned_loop.hpp"

#include <map>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/un.h>
#include <unistd.h>

namespace tunnel_session_test {

using namespace dockdist;
using namespace dockdist::node;
using Kind = TunnelChannels::Event::Kind;

namespace {

struct Listener {
    Listener() {
        sockaddr_in address{};
        socklen_t length = sizeof address;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const bare = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(socket.get(), bare, length) == 0);
        REQUIRE(::listen(socket.get(), 128) == 0);
        REQUIRE(::getsockname(socket.get(), bare, &length) == 0);
        port = ntohs(address.sin_port);
    }
    Fd accept() const { return Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
    Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int port = 0;
};

// The client's end is played; what each channel was sent is counted.
struct Tunnel {
    explicit Tunnel(wire::TunnelAsk ask = {.lease_ms = 3'600'000})
        : session{time.loop, up->read.get(), down->write.get(), ask} {
        set_nonblocking(down->read.get());
    }
    // One round of the node, and what it says.
    void pass() {
        const auto said = client.take_output();
        REQUIRE(::write(up->write.get(), said.data(), said.size()) == static_cast<ssize_t>(said.size()));
        (void)time.loop.turn(1000);
        std::array<char, 65536> buffer{};
        for (auto count = read(buffer); count > 0; count = read(buffer)) {
            const auto taken =
                client.take({buffer.data(), static_cast<std::size_t>(count)}, [&](const auto& event) {
                    accepted += event.kind == Kind::accepted ? 1 : 0;
                    if (event.kind == Kind::failed) {
                        failure = event.failure;
                    }
                    if (event.kind == Kind::data) {
                        came[event.channel] += event.bytes.size();
                    }
                });
            REQUIRE(taken.has_value());
        }
    }
    ssize_t read(std::array<char, 65536>& buffer) const {
        return ::read(down->read.get(), buffer.data(), buffer.size());
    }

    TurnedLoop time{};
    Result<Pipe> up = make_pipe(), down = make_pipe();
    TunnelSession session;
    TunnelChannels client{TunnelChannels::Side::client};
    std::map<ChannelId, std::size_t> came{};
    std::size_t accepted = 0;
    std::optional<wire::TunnelFailure> failure{};
};

// A unix socket without a name in any folder's way: its file goes with it.
struct LocalListener {
    LocalListener() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(::listen(socket.get(), 8) == 0);
    }
    ~LocalListener() { ::unlink(path.c_str()); }
    LocalListener(const LocalListener&) = delete;
    LocalListener& operator=(const LocalListener&) = delete;
    std::string path = "/tmp/dockdist-tunnel-test-" + std::to_string(::getpid()) + ".sock";
    Fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// What becomes of one connection.
std::string outcome(const wire::TunnelAsk& ask, const wire::TunnelTarget& target) {
    Tunnel tunnel(ask);
    tunnel.client.open(target);
    while (tunnel.accepted == 0 && !tunnel.failure) {
        tunnel.pass();
    }
    return tunnel.failure ? tunnel.failure->message : "accepted";
}

} // namespace

TEST_CASE("of many connections that have much to say none waits until the others are done") {
    constexpr std::size_t count = 64;
    constexpr std::size_t share = 16U << 10U;
    const Listener listener;
    Tunnel tunnel;
    for (std::size_t i = 0; i < count; ++i) {
        tunnel.client.open({.host = "127.0.0.1", .port = listener.port});
    }
    while (tunnel.accepted < count) {
        tunnel.pass();
    }
    std::vector<Fd> peers;
    const std::string much(3 * share, 'x');
    for (std::size_t i = 0; i < count; ++i) {
        peers.push_back(listener.accept());
        REQUIRE(::send(peers.back().get(), much.data(), much.size(), MSG_DONTWAIT) ==
                static_cast<ssize_t>(much.size()));
    }
    while (tunnel.came.size() < count) {
        tunnel.pass();
    }
    for (const auto& [id, bytes] : tunnel.came) {
        CHECK(bytes <= 2 * share); // two: the kernel may bring one's bytes a round later
    }
}

TEST_CASE("a host's tunnel reaches unix sockets alone, and a container's none") {
    const LocalListener listener;
    const wire::TunnelAsk host{.lease_ms = 3'600'000, .on_host = true};
    const wire::TunnelAsk container{.lease_ms = 3'600'000};
    CHECK(outcome(host, {.host = listener.path}) == "accepted");
    CHECK(outcome(host, {.host = listener.path + "x"}) == "No such file or directory");
    CHECK(outcome(host, {.host = "127.0.0.1", .port = 1}) == "this tunnel reaches unix sockets only");
    CHECK(outcome(container, {.host = listener.path}) == "this tunnel reaches no unix sockets");
}

TEST_CASE("where only its own user's sockets count, another user's is refused") {
    const LocalListener listener;
    const wire::TunnelAsk own{.lease_ms = 3'600'000, .on_host = true, .own_peers = true};
    CHECK(outcome(own, {.host = listener.path}) == "accepted");
    if (::geteuid() != 0) {
        return; // root alone can listen as another user
    }
    REQUIRE(::seteuid(65534) == 0);
    const bool listens = ::listen(listener.socket.get(), 8) == 0; // who listens is taken down now
    REQUIRE(::seteuid(0) == 0);
    REQUIRE(listens);
    CHECK(outcome(own, {.host = listener.path}) == "another user listens there");
}

} // namespace tunnel_session_test

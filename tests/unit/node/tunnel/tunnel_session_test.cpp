// The node's end of a tunnel, against real sockets of this machine's loopback.
#include "node/tunnel/tunnel_session.hpp"
#include "unit/node/turned_loop.hpp"

#include <map>
#include <netinet/in.h>

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
    Tunnel() { set_nonblocking(down->read.get()); }
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
    TunnelSession session{time.loop, up->read.get(), down->write.get(), {.lease_ms = 3'600'000}};
    TunnelChannels client{TunnelChannels::Side::client};
    std::map<ChannelId, std::size_t> came{};
    std::size_t accepted = 0;
};

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

} // namespace tunnel_session_test

#include "node/check/link_listener.hpp"
#include "node/check/link_socket.hpp"
#include "node/check/links.hpp"
#include "node/check/probe_runner.hpp"
#include "node/system/network.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sys/wait.h>

namespace links_test {

using namespace dockdist::node;
using dockdist::Fd;
namespace wire = dockdist::wire;

namespace {

constexpr auto token = "0123456789abcdef0123456789abcdef";

// On loopback, until the test's end.
struct Listening {
    LinkListener listener;
    Listening() {
        auto started = start_link_listener("127.0.0.1", token);
        REQUIRE(started.has_value());
        listener = *started;
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() {
        ::kill(listener.pid, SIGKILL);
        ::waitpid(listener.pid, nullptr, 0);
    }
    Fd connect() const {
        auto socket = connect_link("127.0.0.1", listener.port, 2000);
        REQUIRE(socket.has_value());
        return std::move(*socket);
    }
};

wire::LinkPeer peer(int port) {
    return {.node = "node-1", .address = "127.0.0.1", .port = port};
}

// Bound, and not listening.
int closed_port(Fd& holder) {
    holder = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = numeric_address("127.0.0.1", 0);
    REQUIRE(::bind(holder.get(), reinterpret_cast<sockaddr*>(&at.storage), at.length) == 0);
    REQUIRE(::getsockname(holder.get(), reinterpret_cast<sockaddr*>(&at.storage), &at.length) == 0);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&at.storage)->sin_port);
}

} // namespace

TEST_CASE("a listener echoes to who brings the token, from the rendezvous range") {
    const Listening listening;
    CHECK(listening.listener.port >= 20000);
    CHECK(listening.listener.port < 30000);
    const auto socket = listening.connect();
    REQUIRE(send_bytes(socket.get(), std::string(token) + link_echo, 2000) == 0);
    CHECK(exchange(socket.get(), "hello", 2000) == 0);
    CHECK(exchange(socket.get(), std::string(1U << 20U, 'x'), 5000) == 0);
}

TEST_CASE("a stranger gets nothing but the end") {
    const Listening listening;
    for (const auto* words : {"0123456789abcdef0123456789abcdeXe", "0123456789abcdef0123456789abcdefq",
                              "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"}) {
        const auto socket = listening.connect();
        REQUIRE(send_bytes(socket.get(), words, 2000) == 0);
        pollfd ready{.fd = socket.get(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&ready, 1, 5000) == 1);
        char byte = 0;
        CHECK(::recv(socket.get(), &byte, 1, 0) <= 0);
    }
}

TEST_CASE("a meeting tells how far it came") {
    const Listening listening;
    Fd holder;
    const auto answer = answer_links_meet(
        {.token = token, .peers = {peer(listening.listener.port), peer(closed_port(holder))}});
    REQUIRE(answer.has_value());
    REQUIRE(answer->links.size() == 2);
    for (const auto& link : answer->links) {
        const bool open = link.outcome == wire::LinkOutcome::open;
        CHECK(link.outcome == (open ? wire::LinkOutcome::open : wire::LinkOutcome::refused));
        CHECK(link.message == (open ? "" : "Connection refused"));
        CHECK(link.latency_us.has_value() == open);
    }
    CHECK(answer->links[0].outcome != answer->links[1].outcome);
}

TEST_CASE("a bandwidth is what the peer has acknowledged") {
    const Listening listening;
    const auto answer =
        answer_links_send({.token = token, .peer = peer(listening.listener.port), .streams = 2, .ms = 200});
    REQUIRE(answer.has_value());
    CHECK(answer->bytes_per_second > 1e6);
    CHECK(answer->segments > 0);
}

TEST_CASE("a stream that does not come about is an error") {
    Fd holder;
    const auto answer = answer_links_send({.token = token, .peer = peer(closed_port(holder)), .ms = 100});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().message == "refused: Connection refused");
}

TEST_CASE("what is no numeric address is not connected to") {
    CHECK(numeric_address("localhost", 1).length == 0);
    CHECK(numeric_address("::1", 1).length == sizeof(sockaddr_in6));
    CHECK(connect_link("localhost", 1, 100).error().number == EINVAL);
}

TEST_CASE("RDMA devices count with an active port") {
    const Scratch folder;
    const auto port = [&](const std::string& device, const std::string& number, const std::string& state) {
        const auto path = folder.path + "/" + device + "/ports/" + number;
        std::filesystem::create_directories(path);
        std::ofstream(path + "/state") << state << "\n";
    };
    port("mlx5_0", "1", "4: ACTIVE");
    port("mlx5_1", "1", "1: DOWN");
    port("mlx5_2", "1", "1: DOWN");
    port("mlx5_2", "2", "4: ACTIVE");
    port("irdma0", "1", "4: ACTIVE");
    std::ofstream(folder / "irdma0/node_type") << "4: RNIC\n";
    CHECK(active_rdma_devices(folder.path) == std::vector<std::string>{"mlx5_0", "mlx5_2"});
    CHECK(active_rdma_devices(folder.path + "/none").empty());
}

} // namespace links_test

#include "node/system/network.hpp"
#include "node/system/port_reservation.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

namespace port_reservation_test {

using namespace dockdist::node;
using dockdist::Fd;

namespace {

enum class Sharing { plain, reuse };

// 0, or why a listener could not have the port.
int listen_on(int port, Sharing sharing) {
    const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = sharing == Sharing::reuse ? 1 : 0;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool listening =
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd.get(), 1) == 0;
    return listening ? 0 : errno;
}

} // namespace

TEST_CASE("a reserved port is taken for all but a listener that shares addresses") {
    const auto ports = reserve_ports("unit", 2);
    REQUIRE(ports.has_value());
    REQUIRE(ports->size() == 2);
    for (const auto& port : *ports) {
        CHECK(port.number >= 20000);
        CHECK(port.number <= 29999);
        CHECK(listen_on(port.number, Sharing::plain) == EADDRINUSE);
        CHECK(listen_on(port.number, Sharing::reuse) == 0);
        CHECK(listen_on(port.number, Sharing::reuse) == 0); // and again, as after a restart
    }
}

TEST_CASE("what one holds another does not get, and the holder's own listener does") {
    const auto free = reserve_ports("unit", 1);
    REQUIRE(free.has_value());
    const int port = free->front().number + 10000; // away from what jobs have
    const auto held = hold_port_beside_remains("127.0.0.1", port);
    REQUIRE(held.open());
    CHECK_FALSE(hold_port_beside_remains("127.0.0.1", port).open());
    CHECK(errno == EADDRINUSE);
    CHECK(hold_port_beside_remains("127.0.0.2", port).open()); // another address is another one
    CHECK(listen_on(port, Sharing::reuse) == 0);
}

TEST_CASE("connections of an earlier listener that are on their way out keep nobody from the port") {
    const auto any = reserve_ports("unit", 1);
    REQUIRE(any.has_value());
    const int port = any->front().number + 10000;
    const auto to = numeric_address("127.0.0.1", port);
    const auto* const address = reinterpret_cast<const sockaddr*>(&to.storage);
    {
        const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        constexpr int on = 1;
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        REQUIRE(::bind(listener.get(), address, to.length) == 0);
        REQUIRE(::listen(listener.get(), 1) == 0);
        CHECK_FALSE(hold_port_beside_remains("127.0.0.1", port).open());
        const Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(caller.get(), address, to.length) == 0);
        Fd session(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(session.open());
        session.reset(); // this side closes first, and keeps what is left of it
    }
    CHECK_FALSE(hold_port("127.0.0.1", port).open());
    CHECK(hold_port_beside_remains("127.0.0.1", port).open());
}

TEST_CASE("a second job of one beginning is given other ports") {
    const auto first = reserve_ports("unit", 1);
    const auto second = reserve_ports("unit", 1);
    REQUIRE(first.has_value());
    REQUIRE(second.has_value());
    CHECK(first->front().number != second->front().number);
}

TEST_CASE("a reserved port is free again when it is given back") {
    int number = 0;
    {
        const auto ports = reserve_ports("unit", 1);
        REQUIRE(ports.has_value());
        number = ports->front().number;
    }
    CHECK(listen_on(number, Sharing::plain) == 0);
}

} // namespace port_reservation_test

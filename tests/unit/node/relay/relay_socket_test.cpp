#include "node/relay/relay_socket.hpp"

#include <doctest/doctest.h>

namespace relay_socket_test {

using namespace dockdist;
using namespace dockdist::node;

TEST_CASE("a relay listens where its host's nodes meet, or not at all") {
    wire::RelayMessage listening;
    const auto listens_at = [&](const wire::RelayOpening& opening) {
        const auto listener = listen_for_peers(opening, listening);
        return listener && listener->open() && listening.peer_port != 0 ? listening.address : "nowhere";
    };
    CHECK(listens_at({.address = "127.0.0.1"}) == "127.0.0.1");
    CHECK(listens_at({.address = "127.0.0.1", .interface = "lo"}) == "127.0.0.1");
    CHECK(listens_at({.address = "198.51.100.7", .interface = "lo"}) == "127.0.0.1"); // the interface decides
    CHECK(listens_at({.address = "gpu1", .interface = "lo", .subnets = {"127.0.0.0/8"}}) == "127.0.0.1");
    CHECK(listen_for_peers({.interface = "no-such0"}, listening).error().message ==
          "this host has no interface no-such0 with an address");
    CHECK(listen_for_peers({.subnets = {"198.51.100.0/24"}}, listening).error().message ==
          "this host has no address in 198.51.100.0/24 (`network.subnet`)");
}

} // namespace relay_socket_test

#include "client/serve/http_server.hpp"

#include <doctest/doctest.h>

namespace listen_address_test {

using namespace dockdist;

TEST_CASE("loopback addresses are listened on, others only where that was asked for") {
    const auto port_of = [](const char* text, bool anywhere = false) {
        const auto address = parse_listen_address(text, anywhere);
        return address ? address->host + " " + std::to_string(address->port) : address.error().message;
    };
    CHECK(port_of("127.0.0.1:9464") == "127.0.0.1 9464");
    CHECK(port_of("localhost:0") == "127.0.0.1 0");
    CHECK(port_of("[::1]:80") == "::1 80");
    for (const auto* open : {"0.0.0.0:9464", "10.0.0.1:9464", "[::]:9464"}) {
        CHECK(port_of(open) == "`" + std::string(open) +
                                   "` can be reached from other machines, without a password and "
                                   "in plain text");
        CHECK(port_of(open, true).ends_with("9464"));
    }
    for (const auto* bad : {"", ":9464", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:80",
                            "example.org:80", "127.0.0.1:80x", "127.0.0.1:-1"}) {
        CHECK(port_of(bad, true) == "`" + std::string(bad) + "` is not an address to listen on");
    }
}

} // namespace listen_address_test

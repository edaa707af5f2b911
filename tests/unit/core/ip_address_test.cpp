#include "shared/core/ip_address.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ip_address_test {

using namespace dockdist;

TEST_CASE("an address is all of the text") {
    for (const auto* text : {"10.0.0.1", "::1", "fe80::1", "::ffff:10.0.0.1"}) {
        CAPTURE(text);
        CHECK(is_ip_address(text));
        CHECK_FALSE(is_ip_address(std::string(text) + '\0'));
        CHECK_FALSE(is_ip_address(std::string(text) + '\0' + "\nroot"));
        CHECK_FALSE(is_ip_address(std::string(text) + "\n"));
        CHECK_FALSE(is_ip_address(std::string(text) + " "));
    }
    for (const auto* text : {"", "10.0.0", "10.0.0.256", "fe80::1%eth0", "node-0"}) {
        CAPTURE(text);
        CHECK_FALSE(is_ip_address(text));
    }
}

TEST_CASE("each kind is read in the network's order of bytes") {
    REQUIRE(read_ipv4("10.0.0.1").has_value());
    CHECK(read_ipv4("10.0.0.1")->s_addr == htonl(0x0A000001));
    CHECK_FALSE(read_ipv4("::1").has_value());
    REQUIRE(read_ipv6("::1").has_value());
    CHECK(read_ipv6("::1")->s6_addr[15] == 1);
    CHECK_FALSE(read_ipv6("10.0.0.1").has_value());
}

TEST_CASE("a port behind an address of colons needs brackets around that") {
    CHECK(address_and_port("10.0.0.1", 29000) == "10.0.0.1:29000");
    CHECK(address_and_port("fd00::1", 29000) == "[fd00::1]:29000");
}

} // namespace ip_address_test

#include "node/system/network.hpp"

#include <doctest/doctest.h>

#include <set>

namespace network_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const std::vector<InterfaceAddress> available{{.interface = "lo", .address = "127.0.0.1", .loopback = true},
                                              {.interface = "docker0", .address = "172.17.0.1"},
                                              {.interface = "eth0", .address = "10.0.0.1"},
                                              {.interface = "ib0", .address = "192.168.0.1"},
                                              {.interface = "ib0", .address = "fd00::1"}};

std::string chosen(const std::string& address, const std::string& interface,
                   const std::string& default_route) {
    const auto endpoint = choose_endpoint(address, interface, default_route, available);
    return endpoint ? endpoint->address + "@" + endpoint->interface : "error: " + endpoint.error().message;
}

Error busy() {
    return {.kind = ErrorKind::conflict, .message = "busy"};
}

} // namespace

TEST_CASE("the interface is the one that holds the address") {
    CHECK(chosen("192.168.0.1", "", "10.0.0.1") == "192.168.0.1@ib0");
    CHECK(chosen("fd00::1", "", "10.0.0.1") == "fd00::1@ib0");
}

TEST_CASE("without an address the default route's is taken") {
    CHECK(chosen("", "", "192.168.0.1") == "192.168.0.1@ib0");
}

TEST_CASE("loopback and the engine's bridge are never chosen unasked") {
    CHECK(chosen("", "", "172.17.0.1") == "10.0.0.1@eth0");
    CHECK(chosen("", "", "127.0.0.1") == "10.0.0.1@eth0");
    CHECK(chosen("", "", "") == "10.0.0.1@eth0");
    CHECK(chosen("172.17.0.1", "", "") == "172.17.0.1@docker0");
    CHECK(chosen("127.0.0.1", "", "") == "127.0.0.1@lo");
}

TEST_CASE("an interface alone brings its first address") {
    CHECK(chosen("", "ib0", "10.0.0.1") == "192.168.0.1@ib0");
    CHECK(chosen("", "eth9", "10.0.0.1") == "error: this host has no interface eth9 with an address");
}

TEST_CASE("an address that nobody holds is an error that names what there is") {
    const auto endpoint = choose_endpoint("10.9.9.9", "", "", available);
    CHECK(endpoint.error().message == "no interface of this host has the address 10.9.9.9");
    CHECK(endpoint.error().hint ==
          "set the host's `address` to one of: lo 127.0.0.1, docker0 172.17.0.1, eth0 10.0.0.1, "
          "ib0 192.168.0.1, ib0 fd00::1");
    CHECK(chosen("10.0.0.1", "ib0", "") == "error: the address 10.0.0.1 is not on the interface ib0");
}

TEST_CASE("a host with nothing but loopback says so") {
    CHECK(choose_endpoint("", "", "", {available[0], available[1]}).has_error());
    CHECK(choose_endpoint("", "", "", {}).error().hint.ends_with("none"));
}

TEST_CASE("the first free port from 2222 is taken") {
    const std::set<int> taken{2222, 2223};
    const auto port = choose_port(
        0, [&](int candidate) { return taken.contains(candidate) ? Status(busy()) : Status(ok); });
    CHECK(*port == 2224);
}

TEST_CASE("a port that was asked for is taken or refused, never changed") {
    CHECK(*choose_port(2300, [](int) { return Status(ok); }) == 2300);
    CHECK(choose_port(2300, [](int) { return Status(busy()); }).error().message == "busy");
}

TEST_CASE("an error that is no conflict ends the search") {
    int tries = 0;
    const auto port = choose_port(0, [&](int) {
        ++tries;
        return Status(Error{.kind = ErrorKind::node, .message = "no PID 1"});
    });
    CHECK(port.has_error());
    CHECK(tries == 1);
}

TEST_CASE("names resolve through the hosts file alone") {
    const std::string hosts = "127.0.0.1 localhost\n10.0.0.5\tstorage  nas # 10.0.0.6 other\n";
    CHECK(resolve_in_hosts(hosts, "nas") == "10.0.0.5");
    CHECK(resolve_in_hosts(hosts, "other").empty());
    CHECK(resolve_in_hosts("", "x").empty());
    CHECK(addresses_in_hosts("::1 both\n10.0.0.5 nas\n127.0.0.1\tboth\n::1 both\n", "both") ==
          std::vector<std::string>{"::1", "127.0.0.1"});
}

} // namespace network_test

#include "node/system/network.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
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
    const auto endpoint = choose_endpoint(
        {.address = address, .interface = interface, .default_address = default_route}, available);
    return endpoint ? endpoint->address + "@" + endpoint->interface : "error: " + endpoint.error().message;
}

// On a host with a network for its management and two interfaces in the one for data.
std::string chosen_within(const std::vector<std::string>& subnets, const std::string& interface = "") {
    const std::vector<InterfaceAddress> two{
        {.interface = "lo", .address = "127.0.0.1", .loopback = true},
        {.interface = "docker0", .address = "10.9.0.1"},
        {.interface = "eth0", .address = "192.168.7.1"},
        {.interface = "eth1", .address = "10.1.0.5"},
        {.interface = "eth1", .address = "10.1.0.9"},
        {.interface = "eth2", .address = "10.1.0.6"},
        {.interface = "eth3", .address = "10.2.0.6"},
        {.interface = "eth3:1", .address = "10.2.0.7"},
        {.interface = "eth3", .address = "fd00:1::a1", .passing = true},
        {.interface = "eth3", .address = "fd00:1::a2"},
        {.interface = "br-mgmt", .address = "10.4.0.1", .leads_out = true}};
    const auto endpoint =
        choose_endpoint({.interface = interface, .subnets = subnets, .default_address = "192.168.7.1"}, two);
    return endpoint ? endpoint->address + "@" + endpoint->interface
                    : endpoint.error().message + " | " + endpoint.error().hint;
}

Error busy() {
    return {.kind = ErrorKind::conflict, .message = "busy"};
}

} // namespace

TEST_CASE("the interface is the one that holds the address") {
    CHECK(chosen("192.168.0.1", "", "10.0.0.1") == "192.168.0.1@ib0");
    CHECK(chosen("fd00::1", "", "10.0.0.1") == "fd00::1@ib0");
    CHECK(chosen("FD00:0::1", "", "10.0.0.1") == "fd00::1@ib0");
}

TEST_CASE(
    "the first lasting address of the one interface in a subnet is the node's, whatever the default route "
    "is") {
    CHECK(chosen_within({"10.2.0.0/16"}) == "10.2.0.6@eth3");
    CHECK(chosen_within({"172.16.0.0/12", "10.2.0.0/24"}) == "10.2.0.6@eth3");
    CHECK(chosen_within({"fd00:1::/64"}) == "fd00:1::a2@eth3"); // not the one that passes
    CHECK(chosen_within({"10.1.0.0/28"}, "eth1") == "10.1.0.5@eth1");
    CHECK(chosen_within({"10.4.0.0/16"}) == "10.4.0.1@br-mgmt"); // a machine's interface is a port of it
}

TEST_CASE("no address in the subnet, and several, are errors that name what there is") {
    CHECK(chosen_within({"10.3.0.0/16", "fd00:9::/64"}) ==
          "this host has no address in 10.3.0.0/16 or fd00:9::/64 (`network.subnet`) | is its interface "
          "there up? It has: lo 127.0.0.1, docker0 10.9.0.1, eth0 192.168.7.1, eth1 10.1.0.5, eth1 10.1.0.9, "
          "eth2 10.1.0.6, eth3 10.2.0.6, eth3:1 10.2.0.7, eth3 fd00:1::a1, eth3 fd00:1::a2, br-mgmt "
          "10.4.0.1; name one with the host's `address` or `interface`, or correct the subnet");
    CHECK(chosen_within({"10.1.0.0/16"}) ==
          "this host has addresses of more than one interface in 10.1.0.0/16 (`network.subnet`): eth1 "
          "10.1.0.5, "
          "eth1 10.1.0.9, eth2 10.1.0.6 | say which with the host's `interface` or `address`");
    CHECK(chosen_within({"10.9.0.0/16"}).starts_with("this host has no address in")); // an engine's own
    CHECK(chosen_within({"127.0.0.0/8"}).starts_with("this host has no address in"));
}

TEST_CASE("an interface that is asked for chooses in the subnet, and is refused outside of it") {
    CHECK(chosen_within({"10.1.0.0/16"}, "eth2") == "10.1.0.6@eth2");
    CHECK(chosen_within({"fd00:1::/64"}, "eth3") == "fd00:1::a2@eth3");
    CHECK(chosen_within({}, "eth0") == "192.168.7.1@eth0");
    CHECK(chosen_within({"10.1.0.0/16"}, "eth0") ==
          "the interface eth0 of this host has no address in 10.1.0.0/16 (`network.subnet`) | it has: eth0 "
          "192.168.7.1; name another with the host's `interface`, or its `address`, or correct the subnet");
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

TEST_CASE("IPv6 is taken only where there is no IPv4, and then an address that lasts") {
    const InterfaceAddress ipv4{.interface = "eth0", .address = "10.0.0.1"};
    const InterfaceAddress bridge{.interface = "docker0", .address = "172.17.0.1"};
    const InterfaceAddress other{.interface = "eth9", .address = "fd00:9::1"};
    const InterfaceAddress temporary{.interface = "eth1", .address = "fd00::a1", .passing = true};
    const InterfaceAddress lasting{.interface = "eth1", .address = "fd00::a2"};
    const auto by_default = [](const std::string& own, const std::vector<InterfaceAddress>& there) {
        return choose_endpoint({.default_address = own}, there)->address;
    };
    CHECK(by_default("fd00::a2", {other, lasting, ipv4}) == "10.0.0.1"); // no default route leads there
    CHECK(by_default("fd00::a1", {bridge, other, temporary, lasting}) == "fd00::a2");
    CHECK(by_default("fd00::a1", {other, temporary}) == "fd00::a1"); // its interface is the right one
    CHECK(by_default("", {temporary, lasting}) == "fd00::a2");
    const InterfaceAddress of_bmc{.interface = "usb0", .address = "169.254.3.1"};
    CHECK(by_default("fd00::a2", {of_bmc, lasting}) == "fd00::a2");
    CHECK(by_default("fd00::a2", {of_bmc}) == "169.254.3.1");
    CHECK(by_default("169.254.3.1", {of_bmc, lasting}) == "169.254.3.1");
    CHECK(choose_endpoint({.interface = "eth1"}, {temporary, lasting})->address == "fd00::a2");
    CHECK(choose_endpoint({.interface = "eth1"}, {temporary})->address == "fd00::a1");
}

TEST_CASE("an address with a label is one of its interface") {
    const std::vector<InterfaceAddress> labelled{{.interface = "eth0:1", .address = "10.0.0.9"}};
    CHECK(choose_endpoint({.address = "10.0.0.9", .interface = "eth0"}, labelled)->interface == "eth0:1");
    CHECK(choose_endpoint({.interface = "eth0"}, labelled)->address == "10.0.0.9");
}

TEST_CASE("addresses that pass are told from the kernel's table, whatever the widths of its columns are") {
    CHECK(passing_addresses("fd0000000000000000000000000000a1 02 40 00 01     eth0\n"
                            "fd0000000000000000000000000000a2 102 40 00 80     eth0\n"
                            "fd0000000000000000000000000000a3 102 40 00 20     eth0\n"
                            "fd0000000000000000000000000000a4 1f0a 80 00 80 averylongname00\n"
                            "fd0000000000000000000000000000a5 02 40 00\n"
                            "nothing\n") == std::set<std::string>{"fd00::a1", "fd00::a3"});
}

TEST_CASE(
    "a bridge leads out by a device's interface, or a bond or VLAN of one, and not by containers' ends") {
    const Scratch scratch;
    const auto make = [&](const std::string& path) {
        std::filesystem::create_directories(scratch.path + "/sys/class/net/" + path);
    };
    make("docker0/brif/veth1");
    make("veth1/statistics");
    make("br0/brif/veth1");
    make("br0/brif/eth0");
    std::filesystem::create_directories(scratch / "sys/devices/pci0/net/eth0/device");
    std::filesystem::create_symlink("../../devices/pci0/net/eth0", scratch / "sys/class/net/eth0");
    make("br1/brif/bond0");
    make("bond0/lower_eth1");
    ::setenv("DOCKDIST_TEST_ROOT", scratch.path.c_str(), 1);
    CHECK(bridge_leads_out("br0"));
    CHECK(bridge_leads_out("br1"));
    CHECK_FALSE(bridge_leads_out("docker0"));
    CHECK_FALSE(bridge_leads_out("eth0"));
    CHECK_FALSE(bridge_leads_out("none"));
    ::unsetenv("DOCKDIST_TEST_ROOT");
}

TEST_CASE("an interface alone brings its first address") {
    CHECK(chosen("", "ib0", "10.0.0.1") == "192.168.0.1@ib0");
    CHECK(chosen("", "eth9", "10.0.0.1") == "error: this host has no interface eth9 with an address");
}

TEST_CASE("an address that nobody holds is an error that names what there is") {
    const auto endpoint = choose_endpoint({.address = "10.9.9.9"}, available);
    CHECK(endpoint.error().message == "no interface of this host has the address 10.9.9.9");
    CHECK(endpoint.error().hint ==
          "set the host's `address` to one of: lo 127.0.0.1, docker0 172.17.0.1, eth0 10.0.0.1, "
          "ib0 192.168.0.1, ib0 fd00::1");
    CHECK(chosen("10.0.0.1", "ib0", "") == "error: the address 10.0.0.1 is not on the interface ib0");
}

TEST_CASE("an address that is only the engine's is taken where the interface has it") {
    const auto on = [](const std::string& address, const std::string& interface) {
        const auto endpoint =
            choose_endpoint({.address = address, .derived = true, .interface = interface}, available);
        return endpoint ? endpoint->address : "error: " + endpoint.error().message;
    };
    CHECK(on("10.0.0.1", "ib0") == "192.168.0.1");
    CHECK(on("fd00::1", "ib0") == "fd00::1"); // not the first
    CHECK(on("10.0.0.1", "eth9") == "error: this host has no interface eth9 with an address");
    CHECK(on("10.9.9.9", "") == "error: no interface of this host has the address 10.9.9.9");
}

TEST_CASE("a host with nothing but loopback says so") {
    CHECK(choose_endpoint({}, {available[0], available[1]}).has_error());
    CHECK(choose_endpoint({}, {}).error().hint.ends_with("none"));
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

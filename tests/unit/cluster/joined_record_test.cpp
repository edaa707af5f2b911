#include "client/cluster/joined_record.hpp"

#include <doctest/doctest.h>

namespace joined_record_test {

using namespace dockdist;

namespace {

const wire::JoinRequest asked{.cluster = "c", .node = "node-1", .rank = 1, .address = "10.0.0.2"};

wire::NodeRecord honest() {
    return {.node = "node-1", .rank = 1, .address = "10.0.0.2", .hostname = "gpu1", .ssh_port = 2222};
}

} // namespace

TEST_CASE("a node is who it was asked to be") {
    CHECK(check_record(honest(), asked, "gpu1").has_value());
    CHECK(check_record(honest(), asked, "gpu1.example.org").has_value());
    auto record = honest();
    record.hostname = "node-1";
    CHECK(check_record(record, asked, "gpu1").has_value());
    record.hostname = "";
    CHECK(check_record(record, asked, "").has_value());
    const wire::JoinRequest open{.node = "node-1", .rank = 1}; // the address of the default route
    CHECK(check_record(record, open, "").has_value());
    const wire::JoinRequest within{.node = "node-1", .rank = 1, .subnets = {"10.9.0.0/16", "10.0.0.0/30"}};
    CHECK(check_record(record, within, "").has_value());
    wire::JoinRequest by_interface = within;
    by_interface.interface = "ib0";
    CHECK(check_record(record, by_interface, "").has_value());
    record.address = "192.168.0.9";
    wire::JoinRequest derived = asked; // the engine's address, which the interface may lack
    derived.derived = true;
    CHECK(check_record(record, derived, "").has_error());
    derived.interface = "ib0";
    CHECK(check_record(record, derived, "").has_value());
    for (const auto& request : {within, by_interface}) {
        CHECK(check_record(record, request, "").error().message ==
              "the node says that its address is `192.168.0.9`, not one in 10.9.0.0/16 or 10.0.0.0/30");
    }
}

TEST_CASE("a node that claims another's name, address or a name of the world's is refused") {
    const auto refused = [](auto change) {
        auto record = honest();
        change(record);
        const auto checked = check_record(record, asked, "gpu1");
        REQUIRE(checked.has_error());
        CHECK(checked.error().kind == ErrorKind::protocol);
        return checked.error().message;
    };
    CHECK(refused([](auto& record) { record.node = "node-0"; }) ==
          "the node says that its name is `node-0`, not `node-1`");
    CHECK(refused([](auto& record) { record.rank = 0; }) == "the node says that its rank is `0`, not 1");
    CHECK(refused([](auto& record) { record.address = "10.0.0.1"; }) ==
          "the node says that its address is `10.0.0.1`, not 10.0.0.2");
    for (const auto* address : {"", "node-0", "0.0.0.0", "224.0.0.1", "10.0.0.2\n10.0.0.9 evil"}) {
        refused([&](auto& record) { record.address = address; });
    }
    for (const auto port : {0, -1, 65536}) {
        refused([&](auto& record) { record.ssh_port = port; });
    }
    CHECK(refused([](auto& record) { record.hostname = "pypi.org"; }) ==
          "the node says that its host name is `pypi.org`, not `gpu1`, as its engine says");
    refused([](auto& record) { record.hostname = "gpu"; });
    refused([](auto& record) { record.hostname = "node-0"; });
}

TEST_CASE("two nodes at one address and port are refused") {
    auto other = honest();
    other.node = "node-0";
    CHECK(check_distinct({honest(), other}).has_error());
    other.ssh_port = 2223;
    CHECK(check_distinct({honest(), other}).has_value());
}

TEST_CASE("nodes at IPv4 and at IPv6 addresses are named before anybody waits for them") {
    std::vector<wire::NodeRecord> records(12, honest());
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].node = "node-" + std::to_string(i);
    }
    CHECK(check_one_family(records).has_value());
    CHECK(check_one_family({}).has_value());
    records[1].address = "fd00::1";
    const auto checked = check_one_family(records);
    REQUIRE(checked.has_error());
    CHECK(checked.error().kind == ErrorKind::config);
    CHECK(checked.error().where == "node-1");
    CHECK(checked.error().message ==
          "node-0, node-2, node-3, node-4, node-5, node-6, node-7, node-8 and 3 more are at IPv4 addresses, "
          "and node-1 at IPv6 addresses: launchers and NCCL need one family for all");
    for (auto& record : records) {
        record.address = "fd00::1";
    }
    CHECK(check_one_family(records).has_value());
}

TEST_CASE("two machines at one address are named before anybody waits for them") {
    auto one = honest();
    one.address = "10.0.2.100";
    one.host = "boot-a net:[1]";
    auto other = one;
    other.node = "node-0";
    other.ssh_port = 2223;                           // else their sshds would clash, which is told as such
    CHECK(check_distinct({one, other}).has_value()); // two nodes of one machine
    other.host = "boot-b net:[1]";
    const auto checked = check_distinct({other, one});
    REQUIRE(checked.has_error());
    CHECK(checked.error().kind == ErrorKind::config);
    CHECK(checked.error().where == "node-1");
    CHECK(checked.error().message ==
          "it is at 10.0.2.100, and so is node-0 on another machine: no node reaches the other there");
    CHECK(checked.error().hint.find("rootless Docker") != std::string::npos);
    other.host.clear(); // not known
    CHECK(check_distinct({other, one}).has_value());
}

} // namespace joined_record_test

#include "cluster/joined_record.hpp"

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

} // namespace joined_record_test

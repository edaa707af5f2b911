#include "shared/wire/join.hpp"
#include "shared/wire/json_reader.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace rdma_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

const RdmaRecord whole{.use = "required",
                       .inside = true,
                       .nccl = "2.19.3",
                       .yours = {"NCCL_IB_HCA"},
                       .ports = {{.device = "mlx5_0",
                                  .port = 2,
                                  .link = "Ethernet",
                                  .state = "ACTIVE",
                                  .mbps = 200'000,
                                  .netdev = "eth2",
                                  .bond = "bond0",
                                  .pci = "0000:3b:00.0",
                                  .part_of = "0000:3b:00.1",
                                  .outside = true,
                                  .prefix = "fe80:0000:0000:0000",
                                  .gids = {{3, "10.1.0.5", 24, "eth2"}, {5, "fd00::5", 0, ""}}}}};

NodeRecord record_with(const RdmaRecord& rdma) {
    return {.node = "node-0", .address = "10.0.0.1", .rdma = rdma};
}

Result<JoinMessage> hello_with(const json& rdma) {
    auto hello = json::parse(hello_line(record_with({})));
    hello["rdma"] = rdma;
    return parse_join_message(hello.dump());
}

TEST_CASE("what a node tells of RDMA goes around, and is a part of the members' hash") {
    const auto back = parse_join_message(hello_line(record_with(whole)));
    REQUIRE(back.has_value());
    CHECK(back->record.rdma == whole);
    CHECK(members_hash({.nodes = {record_with(whole)}}) != members_hash({.nodes = {record_with({})}}));
    CHECK(hello_line(record_with({})).find("rdma") == std::string::npos);
}

TEST_CASE("what would become another variable, list or line is refused") {
    const auto with = [](const char* place, const json& value) {
        auto rdma = json(whole);
        rdma[json::json_pointer(place)] = value;
        return hello_with(rdma).has_value();
    };
    CHECK(with("/ports/0/device", "mlx5_1"));
    for (const auto* name : {"", "mlx5_0,mlx5_1", "a b", "a=b", "^mlx5_0", "a:1", "a\nb", "-a", "../x"}) {
        CHECK_FALSE(with("/ports/0/device", name));
    }
    CHECK_FALSE(with("/ports/0/device", std::string(64, 'd')));
    CHECK_FALSE(with("/ports/0/port", 256));
    CHECK_FALSE(with("/ports/0/port", -1));
    CHECK_FALSE(with("/ports/0/mbps", -1));
    CHECK_FALSE(with("/ports/0/state", "ACTIVE\x1b[2J"));
    CHECK_FALSE(with("/ports/0/netdev", std::string(65, 'e')));
    CHECK_FALSE(with("/ports/0/gids/0/0", 256));
    CHECK_FALSE(with("/ports/0/gids/0/1", "10.1.0.5;x"));
    CHECK_FALSE(with("/ports/0/gids/0/2", 33));
    CHECK_FALSE(with("/ports/0/gids/0/3", "a b"));
    CHECK_FALSE(with("/ports/0/gids/0", json::array({3})));
    CHECK_FALSE(with("/ports/0/gids", json::array_t(most_rdma_gids + 1, {3, "10.1.0.5", 24, ""})));
    CHECK_FALSE(with("/ports", json::array_t(most_rdma_ports + 1, json{{"device", "a"}})));
    CHECK_FALSE(with("/use", "maybe"));
    CHECK_FALSE(with("/nccl", "2.19; rm"));
    CHECK_FALSE(with("/yours", json::array({"A B"})));
    CHECK_FALSE(with("/yours", json::array_t(most_rdma_variables + 1, "A")));
}

TEST_CASE("a record too long for its line loses virtual functions, then ports without a link, then says so") {
    RdmaRecord record = whole;
    record.ports.front().state = "ACTIVE";
    record.ports.front().part_of.clear();
    record.ports.front().outside = false;
    const auto port = record.ports.front();
    shorten(record, longest_rdma_record);
    CHECK(record.ports.size() == 1);
    const auto add = [&](const char* name, int count, const char* state, const char* part_of) {
        for (int i = 0; i < count; ++i) {
            auto& one = record.ports.emplace_back(port);
            one.device = name + std::to_string(i);
            one.state = state;
            one.pci = part_of[0] == '\0' ? port.pci : "";
            one.part_of = part_of;
        }
    };
    add("virtual_", 20, "ACTIVE", port.pci.c_str());
    add("down_", 4, "DOWN", "");
    add("mlx5_", 7, "ACTIVE", "");
    auto some = record;
    shorten(some, 3000);
    CHECK(json(some).dump().size() <= 3000);
    REQUIRE(some.ports.size() > 12);
    CHECK(some.ports[7].device == "mlx5_6");
    CHECK(some.ports[11].device == "down_3");
    CHECK(some.ports[12].device == "virtual_0");
    CHECK_FALSE(some.cut);
    shorten(record, 1000);
    CHECK(json(record).dump().size() <= 1000);
    REQUIRE(record.ports.size() > 1);
    CHECK(record.cut);
    CHECK(parse_join_message(hello_line(record_with(record)))->record.rdma == record);
}

TEST_CASE("the list of members is one line, however many nodes there are with however many ports") {
    RdmaRecord record = whole;
    const auto port = record.ports.front();
    for (std::size_t i = 1; i < most_rdma_ports; ++i) {
        record.ports.emplace_back(port).gids.assign(
            most_rdma_gids, {3, "fd00:1111:2222:3333:4444:5555:6666:7777", 64, "enP2p1s0f0np0"});
    }
    for (const int count : {1, 2, 400, 1024, 4096}) {
        auto rdma = record;
        shorten(rdma, room_for_rdma(static_cast<std::size_t>(count)));
        auto node = record_with(rdma);
        node.node = node.hostname = std::string(63, 'n');
        node.address = "fd00:1111:2222:3333:4444:5555:6666:7777";
        node.host = std::string(32, 'f');
        node.user_key = node.host_key = std::string(81, 'k');
        node.clock_ms = 1'700'000'000'000;
        const Members members{.cluster = "c", .nodes = std::vector(static_cast<std::size_t>(count), node)};
        CHECK(members_list(members).size() < max_line);
        CHECK(ready_record_line(node, std::string(16, 'f')).size() < (16U << 10U));
    }
    CHECK(room_for_rdma(2) == longest_rdma_record);
    CHECK(room_for_rdma(1024) > 3000); // eight rails and more
    CHECK(room_for_rdma(1U << 20U) > 0);
}

TEST_CASE("a join request says what is asked of RDMA") {
    JoinRequest request{.cluster = "c", .node = "n", .rdma = "off"};
    CHECK(parse_join_request(json(request).dump())->rdma == "off");
    request.rdma = "sometimes";
    CHECK_FALSE(parse_join_request(json(request).dump()).has_value());
}

} // namespace rdma_test

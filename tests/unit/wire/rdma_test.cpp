#include "wire/join.hpp"

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

TEST_CASE(
    "a host with very many ports tells of the first ones: its record is a line that engines keep whole") {
    RdmaRecord record = whole;
    shorten(record);
    CHECK(record == whole);
    const auto port = record.ports.front();
    for (std::size_t i = 0; i < most_rdma_ports; ++i) {
        auto& one = record.ports.emplace_back(port);
        one.device = "mlx5_" + std::to_string(i);
        one.gids.assign(most_rdma_gids, {3, "fd00:1111:2222:3333:4444:5555:6666:7777", 64, "enP2p1s0f0np0"});
    }
    shorten(record);
    CHECK(json(record).dump().size() <= longest_rdma_record);
    REQUIRE(record.ports.size() > 5);
    CHECK(record.ports[1].device == "mlx5_0");
    CHECK(ready_record_line(record_with(record), std::string(16, 'f')).size() < (16U << 10U));
}

TEST_CASE("a join request says what is asked of RDMA") {
    JoinRequest request{.cluster = "c", .node = "n", .rdma = "off"};
    CHECK(parse_join_request(json(request).dump())->rdma == "off");
    request.rdma = "sometimes";
    CHECK_FALSE(parse_join_request(json(request).dump()).has_value());
}

} // namespace rdma_test

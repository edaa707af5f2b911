#include "client/check/collective_rows.hpp"
#include "client/check/probe_stages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

namespace collective_rows_test {

using namespace dockdist;
using nlohmann::json;
using State = CheckRow::State;

namespace {

constexpr std::uint64_t gib = 1U << 30U;

std::vector<NodeName> some_nodes(std::size_t count) {
    std::vector<NodeName> nodes;
    for (std::size_t i = 0; i < count; ++i) {
        nodes.emplace_back("node-" + std::to_string(i));
    }
    return nodes;
}

json measurement(std::uint64_t bytes, double time_us, bool copy = false) {
    return {{"type", "measurement"},
            {"operation", "all_reduce"},
            {"data_type", "float"},
            {"bytes", bytes},
            {"time_us", time_us},
            {"kind", copy ? "copy" : "collective"},
            {"wrong", 0}};
}

// `gpus` ranks on each of the nodes, all of which have measured one all_reduce of a GiB at that bus
// bandwidth.
ProbeWorld world(const std::vector<std::size_t>& nodes, int gpus, double bus_gbps,
                 const std::string& gpu = "Some GPU") {
    ProbeWorld made{.nodes = nodes, .rdma = {nodes.size(), std::vector<std::string>{}}};
    const auto ranks = static_cast<double>(nodes.size()) * gpus;
    const auto factor = ranks > 1 ? 2 * (ranks - 1) / ranks : 1;
    const auto time_us = static_cast<double>(gib) * factor / bus_gbps / 1e3;
    for (const auto node : nodes) {
        for (int gpu_number = 0; gpu_number < gpus; ++gpu_number) {
            made.ranks.push_back({.place = node,
                                  .local_rank = gpu_number,
                                  .device = {{"name", gpu}, {"nccl", "2.21.5"}},
                                  .measurements = {measurement(gib, time_us, ranks < 2)},
                                  .result = {{"ok", true}, {"transports", json::array()}},
                                  .end = wire::ProbeEnd{}});
        }
    }
    return made;
}

void set_error(ProbeRank& rank, int code, const std::string& kind, const std::string& message) {
    rank.end = wire::ProbeEnd{.code = code};
    rank.result = {{"ok", false},
                   {"error", {{"kind", kind}, {"where", ""}, {"message", message}, {"hint", "do"}}}};
}

void set_transport(ProbeWorld& made, const std::string& kind, const std::string& detail) {
    for (auto& rank : made.ranks) {
        rank.result["transports"] = {{{"kind", kind}, {"detail", detail}, {"connections", 2}}};
        rank.result["interfaces"] = {"eth0"};
    }
}

} // namespace

TEST_CASE("a figure is the mean of the ranks' times") {
    auto made = world({0, 1}, 1, 10);
    made.ranks[0].measurements = {measurement(4'000'000, 300)};
    made.ranks[1].measurements = {measurement(4'000'000, 500)};
    const auto measurements = measurements_of(made);
    REQUIRE(measurements.size() == 1);
    CHECK(measurements[0].time_us == doctest::Approx(400));
    CHECK(measurements[0].algorithm_bandwidth == doctest::Approx(10));
    CHECK(measurements[0].bus_bandwidth == doctest::Approx(10)); // of two ranks
    CHECK(measurements[0].ranks == 2);
}

TEST_CASE("only what all ranks have measured is a figure, whatever they say") {
    auto made = world({0, 1}, 1, 10);
    made.ranks[1].measurements.clear();
    CHECK(measurements_of(made).empty());
    made.ranks[1].measurements = {json(7)};
    made.ranks[0].measurements = {json{{"operation", 3}, {"bytes", -5}, {"time_us", "x"}}};
    const auto measurements = measurements_of(made);
    REQUIRE(measurements.size() == 1);
    CHECK(measurements[0].bytes == 0);
    CHECK(measurements[0].bus_bandwidth == 0);
}

TEST_CASE("eight known GPUs are graded, and one is a copy") {
    const auto nodes = some_nodes(3);
    const auto h100 = "NVIDIA H100 80GB HBM3";
    const auto rows =
        judge_alone(nodes, {world({0}, 8, 478, h100), world({1}, 8, 300, h100), world({2}, 1, 1500, h100)});
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].text.starts_with(
        "8 GPUs: all_reduce 478 GB/s (1.0 GiB), every element right; NCCL 2.21.5; known good: 480 GB/s"));
    CHECK(rows[1].state == State::fail);
    CHECK(rows[1].text.find("; here 300 GB/s") != std::string::npos);
    CHECK(rows[2].state == State::pass);
    CHECK(rows[2].text.find("is a copy in its own memory, not graded") != std::string::npos);
}

TEST_CASE("GPUs that nobody knows compare with the other nodes") {
    const auto rows = judge_alone(
        some_nodes(4), {world({0}, 4, 100), world({1}, 4, 101), world({2}, 4, 60), world({3}, 4, 99)});
    REQUIRE(rows.size() == 4);
    CHECK(rows[2].state == State::warn);
    CHECK(rows[2].text.find("the other nodes reach 101 GB/s") != std::string::npos);
    CHECK(rows[0].state == State::pass);
}

TEST_CASE("wrong elements name the node and the GPU") {
    auto made = world({1}, 2, 100);
    set_error(made.ranks[1], 1, "node", "all_reduce of 4096 bytes of float: 2 of 2048 elements are wrong");
    made.ranks[1].measurements[0]["wrong"] = 2;
    const auto rows = judge_faults(some_nodes(2), "each node alone", made);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text ==
          "each node alone: GPU 1 got wrong results: all_reduce of 4096 bytes of float: 2 of 2048 "
          "elements are wrong");
    CHECK(made.complete());
    CHECK(judge_alone(some_nodes(2), {made}).empty());
}

TEST_CASE("who died is named, not those who saw it") {
    auto made = world({0, 1}, 2, 100);
    set_error(made.ranks[0], 4, "node", "ncclAllReduce: remote process exited (NCCL 6)");
    set_error(made.ranks[1], 5, "timeout", "had not ended");
    set_error(made.ranks[2], 6, "interrupted", "stdin has ended");
    made.ranks[3].result = {};
    made.ranks[3].end = wire::ProbeEnd{.code = 137, .signal = 9};
    const auto rows = judge_faults(some_nodes(2), "all nodes", made);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "all nodes: GPU 1: its process was killed by signal 9");
    CHECK_FALSE(made.complete());
}

TEST_CASE("ranks that all waited are named together") {
    auto made = world({0, 1}, 2, 100);
    for (auto& rank : made.ranks) {
        set_error(rank, 5, "timeout", "all_gather had not ended");
    }
    const auto rows = judge_faults(some_nodes(2), "all nodes", made);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-0, node-1");
    CHECK(rows[0].text == "all nodes: node-0 GPU 0, 1; node-1 GPU 0, 1: all_gather had not ended");
}

TEST_CASE("an image without NCCL is a warning, one without glibc a failure") {
    auto made = world({0}, 2, 100);
    for (auto& rank : made.ranks) {
        set_error(rank, 3, "not_found", "there is no libnccl.so.2 (looked in 9 places)");
    }
    CHECK(judge_faults(some_nodes(1), "each node alone", made)[0].state == State::warn);
    for (auto& rank : made.ranks) {
        rank.result = {};
        rank.end = wire::ProbeEnd{
            .code = 126, .message = "dockdist-probe does not start: the image has no glibc", .hint = "h"};
    }
    const auto rows = judge_faults(some_nodes(1), "each node alone", made);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].hint == "h");
}

TEST_CASE("nodes that lack the same are one row") {
    std::vector<CheckRow> rows;
    for (const std::size_t node : {0U, 1U, 2U}) {
        auto made = world({node}, 2, 100);
        for (auto& rank : made.ranks) {
            set_error(rank, 3, "not_found",
                      node == 2 ? "there is no libcuda.so.1" : "there is no libnccl.so.2");
        }
        std::ranges::move(judge_faults(some_nodes(3), "each node alone", made), std::back_inserter(rows));
    }
    auto joined = join_alike(some_nodes(3), rows);
    REQUIRE(joined.size() == 2);
    CHECK(joined[0].subject == "node-0, node-1");
    CHECK(joined[1].subject == "node-2");
    joined = join_alike(some_nodes(2), {rows[0], rows[1]});
    REQUIRE(joined.size() == 1);
    CHECK(joined[0].subject == "all nodes");
}

TEST_CASE("a node that was lost is told, and not what the others saw of it") {
    auto made = world({0, 1}, 1, 100);
    made.errors.push_back({ErrorKind::unreachable, "node-1", "the connection broke", "look"});
    made.ranks[1].end.reset();
    made.ranks[1].result = {};
    set_error(made.ranks[0], 4, "node", "remote process exited (NCCL 6)");
    const auto rows = judge_faults(some_nodes(2), "all nodes", made);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "all nodes: the connection broke");
}

TEST_CASE("the slow node and the slow pair are named") {
    const auto pairs = [](auto bandwidth) {
        std::vector<ProbeWorld> worlds;
        for (std::size_t a = 0; a < 4; ++a) {
            for (auto b = a + 1; b < 4; ++b) {
                worlds.push_back(world({a, b}, 2, bandwidth(a, b)));
            }
        }
        return worlds;
    };
    auto rows = judge_pairs(some_nodes(4), pairs([](auto, auto b) { return b == 3 ? 10.0 : 45.0; }));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-3");
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].text == "slow with every other node: all_reduce 10 GB/s at best, the other pairs 45 GB/s");
    rows = judge_pairs(some_nodes(4), pairs([](auto a, auto b) { return a == 1 && b == 2 ? 30.0 : 45.0; }));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-1, node-2");
    CHECK(rows[0].state == State::warn);
    rows = judge_pairs(some_nodes(4), pairs([](auto, auto) { return 45.0; }));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].text == "all_reduce 45 GB/s to 45 GB/s (1.0 GiB)");
}

TEST_CASE("a node that was left out is not slow") {
    std::vector<ProbeWorld> worlds;
    for (const auto& pair : {std::pair<std::size_t, std::size_t>{0, 2}, {0, 3}, {2, 3}}) {
        worlds.push_back(world({pair.first, pair.second}, 2, 45));
    }
    const auto rows = judge_pairs(some_nodes(4), worlds);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::pass);
}

TEST_CASE("sockets where RDMA devices are fail") {
    const auto nodes = some_nodes(2);
    auto made = world({0, 1}, 1, 5);
    set_transport(made, "NET/Socket", "");
    CHECK(judge_transport(nodes, made)[0].state == State::pass);
    CHECK(judge_transport(nodes, made)[0].text == "NET/Socket; no RDMA device is used");
    made.rdma = {{"mlx5_0"}, {}};
    CHECK(judge_transport(nodes, made)[0].state == State::warn);
    made.rdma = {{"mlx5_0"}, {"mlx5_0"}};
    const auto rows = judge_transport(nodes, made);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].subject == "all nodes");
    CHECK(rows[0].text == "NCCL uses sockets (NET/Socket on eth0) although there are RDMA devices (mlx5_0)");
    set_transport(made, "NET/IB", "GDRDMA");
    CHECK(judge_transport(nodes, made)[0].state == State::pass);
    CHECK(judge_transport(nodes, made)[0].text == "NET/IB/GDRDMA");
}

TEST_CASE("devices that NCCL itself found count as there") {
    auto made = world({0, 1}, 1, 5);
    set_transport(made, "NET/Socket", "");
    for (auto& rank : made.ranks) {
        rank.result["rdma_devices"] = {"mlx5_0:1/RoCE"};
    }
    CHECK(judge_transport(some_nodes(2), made)[0].state == State::fail);
}

TEST_CASE("all nodes' figure is told") {
    const auto rows = judge_all(some_nodes(2), world({0, 1}, 8, 370));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text ==
          "16 GPUs of 2 nodes: all_reduce 370 GB/s (1.0 GiB), every element of 1 measurements right");
}

TEST_CASE("stages: each alone, disjoint pairs, all") {
    CHECK(alone_stage({0, 2}).groups == std::vector<std::vector<std::size_t>>{{0}, {2}});
    CHECK(pair_stages({0, 1}).empty()); // they are all
    const auto stages = pair_stages({0, 1, 5, 7});
    REQUIRE(stages.size() == 3);
    CHECK(stages[0].name == "pairs of nodes, round 1 of 3");
    for (const auto& stage : stages) {
        CHECK(stage.groups.size() == 2);
    }
    CHECK(all_stage({0, 2}).groups == std::vector<std::vector<std::size_t>>{{0, 2}});
    CHECK(all_stage({0, 2}).order["operations"].size() == 6);
    CHECK(all_stage({0, 2}).order["sizes"].back() == std::uint64_t{8} << 30U);
}

} // namespace collective_rows_test

#include "shared/usage/job_usage.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace job_usage_test {

using namespace dockdist;
using wire::Figure;

namespace {

constexpr double gib = 1 << 30;

std::vector<NodeUsage> two_nodes() {
    return {
        {.node = NodeName("node-0"),
         .usage =
             {.gpus = 2,
              .duration_ms = 200'000,
              .figures =
                  {{.figure = Figure::gpu_utilization, .mean = 90, .peak = 99, .seconds = 400, .peak_gpu = 1},
                   {.figure = Figure::gpu_power, .mean = 600, .peak = 650, .seconds = 400, .peak_gpu = 0},
                   {.figure = Figure::cpu, .mean = 10, .peak = 14, .seconds = 200},
                   {.figure = Figure::network_received, .mean = gib, .peak = 2 * gib, .seconds = 200},
                   {.figure = Figure::network_sent, .mean = gib / 2, .peak = gib, .seconds = 200}}}},
        {.node = NodeName("node-1"),
         .usage = {
             .gpus = 2,
             .duration_ms = 180'000,
             .figures = {
                 {.figure = Figure::gpu_utilization, .mean = 30, .peak = 100, .seconds = 200, .peak_gpu = 3},
                 {.figure = Figure::cpu, .mean = 2, .peak = 20, .seconds = 200}}}}};
}

} // namespace

TEST_CASE("over nodes means are weighted, peaks are placed, and sums are of all") {
    const auto sum = sum_usage(two_nodes());
    CHECK(sum.gpus == 4);
    CHECK(sum.duration_ms == 200'000);
    CHECK(sum.gpu_hours == doctest::Approx((2 * 200 + 2 * 180) / 3600.0));
    REQUIRE(sum.find(Figure::gpu_utilization) != nullptr);
    const auto& load = *sum.find(Figure::gpu_utilization);
    CHECK(load.mean == doctest::Approx(70));
    CHECK(load.peak == 100);
    CHECK(load.peak_node.str() == "node-1");
    CHECK(load.peak_gpu == 3);
    CHECK(sum.find(Figure::gpu_power)->total() == doctest::Approx(240'000)); // J
    CHECK(sum.find(Figure::network_received)->total() == doctest::Approx(200 * gib));
    CHECK(sum.find(Figure::gpu_memory) == nullptr);
    CHECK(sum_usage({}).figures.empty());
}

TEST_CASE("of nodes that share a host, the one that saw most stands for its network and disks") {
    auto nodes = two_nodes();
    auto third = nodes[0];
    third.node = NodeName("node-2");
    nodes.push_back(third);
    nodes[0].usage.host = nodes[1].usage.host = "boot-1 net:[1]";
    nodes[1].usage.figures.push_back(
        {.figure = Figure::network_received, .mean = 2 * gib, .peak = 9 * gib, .seconds = 150});
    nodes[1].usage.figures.push_back({.figure = Figure::disk_read, .mean = 1, .peak = 1, .seconds = 150});
    nodes[2].usage.host = "boot-1 net:[2]";
    const auto sum = sum_usage(nodes);
    CHECK(sum.find(Figure::network_received)->total() == doctest::Approx((300 + 200) * gib));
    CHECK(sum.find(Figure::network_received)->seconds == doctest::Approx(150 + 200));
    CHECK(sum.find(Figure::network_received)->peak_node.str() == "node-1");
    CHECK(sum.find(Figure::network_sent)->total() == doctest::Approx((100 + 100) * gib));
    CHECK(sum.find(Figure::disk_read)->total() == doctest::Approx(150));
    CHECK(sum.find(Figure::cpu)->total() == doctest::Approx(2000 + 400 + 2000)); // of the processes
    nodes[0].usage.host.clear(); // of an earlier dockdist: nobody knows
    CHECK(sum_usage(nodes).find(Figure::network_received)->total() ==
          doctest::Approx((200 + 300 + 200) * gib));
}

TEST_CASE("a node in reserve does not count in the load, and in all else") {
    auto nodes = two_nodes();
    nodes[1].spare = true;
    const auto sum = sum_usage(nodes);
    CHECK(sum.find(Figure::gpu_utilization)->mean == doctest::Approx(90));
    CHECK(sum.find(Figure::cpu)->mean == doctest::Approx(6));
    CHECK(sum.gpus == 4);
    CHECK(sum_usage({nodes[1]}).find(Figure::gpu_utilization)->mean == doctest::Approx(30)); // its own
}

TEST_CASE("what people read of figures") {
    CHECK(figure_text(Figure::gpu_utilization, 87.4) == "87 %");
    CHECK(figure_text(Figure::gpu_memory, 61.2 * gib) == "61.2 GiB");
    CHECK(figure_text(Figure::gpu_clock, 1979.6) == "1980 MHz");
    CHECK(figure_title(Figure::disk_written) == "disk written");
    CHECK(figure_text(Figure::cpu, 0.042) == "0.04 cores");
    CHECK(figure_text(Figure::cpu, 12.34) == "12.3 cores");
    CHECK(figure_text(Figure::network_sent, 1.5 * gib) == "1.5 GiB/s");
    CHECK(hours_text(0.00138) == "0.0014");
    CHECK(hours_text(2.5e-05) == "<0.0001");
    CHECK(hours_text(12.345) == "12.3");
    CHECK(hours_text(1250) == "1250");
    CHECK(energy_text(126'000) == "35.0 Wh");
    CHECK(energy_text(4.32e6) == "1.20 kWh");
}

TEST_CASE("the line at a run's end") {
    CHECK(usage_line(sum_usage(two_nodes())) == "3 min 20 s, 0.21 GPU hours; GPU load 70 % (peak 100 %), GPU "
                                                "power 600 W (peak 650 W), CPU 6.00 cores "
                                                "(peak 20.0 cores); network 200.0 GiB in, 100.0 GiB out");
    auto nothing = two_nodes();
    nothing[0].usage.figures.clear();
    nothing[1].usage.figures.clear();
    CHECK(usage_line(sum_usage(nothing)).empty());
}

TEST_CASE("programs find what was measured, and no key for what was not") {
    const auto json = usage_json(sum_usage(two_nodes()));
    CHECK(json["gpus"] == 4);
    CHECK(json["duration_ms"] == 200'000);
    CHECK(json["gpu_utilization_percent"]["peak_node"] == "node-1");
    CHECK(json["gpu_utilization_percent"]["peak_gpu"] == 3);
    CHECK(json["energy_j"].get<double>() == doctest::Approx(240'000));
    CHECK(json["cpu_cores"]["mean"].get<double>() == doctest::Approx(6));
    CHECK_FALSE(json["cpu_cores"].contains("peak_gpu"));
    CHECK(json["cpu_s"].get<double>() == doctest::Approx(2400));
    CHECK_FALSE(json.contains("gpu_memory_bytes"));
    CHECK_FALSE(json.contains("rdma_sent_bytes"));
}

} // namespace job_usage_test

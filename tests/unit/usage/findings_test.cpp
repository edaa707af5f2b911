#include "shared/usage/curves.hpp"
#include "shared/usage/findings.hpp"

#include <doctest/doctest.h>

namespace findings_test {

using namespace dockdist;
using wire::Figure;
using Findings = std::vector<std::string>;

namespace {

wire::Curve curve(int gpu, std::vector<double> means) {
    wire::Curve curve{.figure = Figure::gpu_utilization, .gpu = gpu};
    for (const auto mean : means) {
        curve.points.push_back(wire::CurvePoint{.least = mean, .mean = mean, .most = mean});
    }
    return curve;
}

NodeUsage usage(const char* node, double mean, double peak, std::int64_t duration_ms = 60'000) {
    return {.node = NodeName(node),
            .usage = {.gpus = 2,
                      .duration_ms = duration_ms,
                      .figures = {
                          {.figure = Figure::gpu_utilization, .mean = mean, .peak = peak, .seconds = 120}}}};
}

} // namespace

TEST_CASE("a GPU that did nothing beside others that worked is named with its node") {
    const NodeHistory first{.node = NodeName("node-0"),
                            .history = {.curves = {curve(0, {80, 90}), curve(1, {0, 0}), curve(2, {0, 0})}}};
    const NodeHistory second{.node = NodeName("node-1"), .history = {.curves = {curve(0, {0, 85})}}};
    CHECK(findings({usage("node-0", 85, 90), usage("node-1", 85, 90)}, {first, second}) ==
          Findings{"GPU 1,2 of node-0 did nothing all the time"});
    CHECK(findings({usage("node-0", 85, 90, 29'000)}, {first, second}).empty());
    const NodeHistory rests{.node = NodeName("node-0"), .history = {.curves = {curve(0, {0, 0})}}};
    CHECK(findings({usage("node-0", 0, 0)}, {rests}) == Findings{"no GPU of the job did anything"});
}

TEST_CASE("a node that did less than the others, and GPUs that mostly waited") {
    CHECK(findings({usage("node-0", 90, 100), usage("node-1", 65, 100), usage("node-2", 88, 99)}, {}) ==
          Findings{"the GPUs of node-1 were busy 65 % of the time, those of others 88 %"});
    CHECK(findings({usage("node-0", 31, 100), usage("node-1", 30, 100)}, {}) ==
          Findings{"the GPUs were busy 30 % of the time: they waited for the rest (data, the CPU, "
                   "checkpoints, other "
                   "nodes)"});
}

TEST_CASE("nodes in reserve are no reason for anything that is said") {
    auto spare = usage("node-4", 0, 0);
    spare.spare = true;
    spare.usage.findings = {{.kind = wire::Finding::Kind::disk_full, .disk = "/", .about = "1 GiB left"}};
    const NodeHistory works{.node = NodeName("node-0"), .history = {.curves = {curve(0, {80, 90})}}};
    const NodeHistory rests{.node = NodeName("node-4"), .history = {.curves = {curve(0, {0, 0})}}};
    CHECK(findings({usage("node-0", 85, 90), spare}, {works, rests}).empty());
    spare.spare = false;
    CHECK(findings({usage("node-0", 85, 90), spare}, {works, rests}).size() == 4);
}

TEST_CASE("GPUs of the job that did nothing for long, or that their hardware slowed down, are told") {
    auto first = usage("node-0", 85, 100);
    auto second = usage("node-1", 85, 100);
    first.usage.findings = {{.kind = wire::Finding::Kind::idle, .for_ms = 2'700'000}};
    second.usage.findings = {{.kind = wire::Finding::Kind::hw_slowdown,
                              .gpu = 3,
                              .for_ms = 180'000,
                              .about = "66 °C, 600 of 1980 MHz"},
                             {.kind = wire::Finding::Kind::idle, .for_ms = 2'701'000}};
    CHECK(
        findings({first, second}, {}) ==
        Findings{"the job's GPUs on node-0, node-1 did nothing for 45 min",
                 "node-1 GPU 3: slowed down by the hardware (a power brake, or the power supply) for 3 min, "
                 "at 66 °C, 600 of 1980 MHz"});
}

TEST_CASE("what the nodes found while it ran is told by node, also of a short job") {
    auto first = usage("node-0", 85, 100, 20'000);
    auto second = usage("node-1", 85, 100, 20'000);
    first.usage.findings = {
        {.kind = wire::Finding::Kind::memory_grows, .rank = 3, .about = "1.0 GiB more in 10 min"}};
    second.usage.findings = {{.kind = wire::Finding::Kind::thermal,
                              .gpu = 1,
                              .for_ms = 180'000,
                              .about = "88 °C, 1200 of 1980 MHz"},
                             {.gpu = 0, .for_ms = 72'000, .about = "102 W of 700 W"}};
    CHECK(findings({first, second}, {}) ==
          Findings{
              "node-1 GPU 0: 100 % busy at 102 W of 700 W for 1 min: it waits for others, as in a collective "
              "that goes over sockets; `dockdist check --deep` says which way it goes",
              "node-1 GPU 1: slowed down because too hot for 3 min, at 88 °C, 1200 of 1980 MHz",
              "node-0 rank 3: its memory grows: 1.0 GiB more in 10 min"});
}

TEST_CASE("curves of different steps are one by their time") {
    const auto fine = curve(0, {10, 20, 30, 40});
    auto coarse = curve(1, {100, 60});
    coarse.points.front().reset();
    const auto all = combined({{.curve = &fine, .step_ms = 1000}, {.curve = &coarse, .step_ms = 2000}});
    CHECK(all.step_ms == 2000);
    REQUIRE(all.points.size() == 2);
    CHECK(*all.points[0] == wire::CurvePoint{.least = 10, .mean = 15, .most = 20});
    CHECK(all.points[1]->least == 30);
    CHECK(all.points[1]->most == 60);
    CHECK(all.points[1]->mean == doctest::Approx((30 + 40 + 60) / 3.0));
    CHECK(combined({}).points.empty());
}

} // namespace findings_test

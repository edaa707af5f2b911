#include "shared/usage/readings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace readings_test {

using namespace dockdist;
using wire::Figure;

namespace {

wire::SampleFacts facts() {
    return {.cpus = 16,
            .gpus = {{.index = 0, .uuid = "GPU-a"},
                     {.index = 1, .uuid = "GPU-b"},
                     {.index = 2, .uuid = "GPU-c", .instances = {"MIG-x"}}},
            .network = {"eth0", "eth1"}};
}

wire::Sample sample(std::int64_t clock_ms, std::uint64_t bytes, std::int64_t cpu_ms) {
    wire::Sample sample{.clock_ms = clock_ms,
                        .disk_read = 3 * bytes,
                        .network = {{.received = bytes, .sent = 2 * bytes}, {.received = bytes}},
                        .gpus = {{.utilization_percent = 10, .memory_bytes = 1 << 20, .power_w = 90.5},
                                 {.utilization_percent = 20, .clock_mhz = 1980},
                                 {}}};
    sample.ranks = {
        {.job = "train", .rank = 0, .cpu_ms = cpu_ms, .memory_bytes = 1000, .gpus = {1}},
        {.job = "train", .rank = 1, .cpu_ms = 3 * cpu_ms, .memory_bytes = 500},
        {.job = "other", .rank = 0, .cpu_ms = 99 * cpu_ms, .memory_bytes = 77777, .gpus = {0, 1}}};
    return sample;
}

std::optional<double> value(const Reading& reading, Figure figure, int gpu = -1) {
    const auto found = std::ranges::find_if(reading.values, [&](const Reading::Value& value) {
        return value.figure == figure && value.gpu == gpu;
    });
    return found == reading.values.end() ? std::nullopt : std::optional(found->value);
}

} // namespace

TEST_CASE("of the GPUs the job's own are read, and nothing stands for what was not told") {
    Readings readings("train", {"GPU-b", "MIG-x"});
    const auto reading = readings.of(facts(), sample(1000, 0, 0));
    CHECK(reading.at_ms == 1000);
    CHECK_FALSE(value(reading, Figure::gpu_utilization, 0).has_value());
    CHECK(value(reading, Figure::gpu_utilization, 1) == 20);
    CHECK(value(reading, Figure::gpu_clock, 1) == 1980);
    CHECK_FALSE(value(reading, Figure::gpu_power, 1).has_value());
    CHECK_FALSE(value(reading, Figure::gpu_utilization, 2).has_value()); // it tells nothing
    Readings first("train", {"GPU-a"});
    CHECK(value(first.of(facts(), sample(0, 0, 0)), Figure::gpu_power, 0) == 90.5);
}

TEST_CASE("a job that has taken none is read by the GPUs that its ranks see") {
    Readings readings("train", {});
    const auto reading = readings.of(facts(), sample(1000, 0, 0));
    CHECK_FALSE(value(reading, Figure::gpu_utilization, 0).has_value());
    CHECK(value(reading, Figure::gpu_utilization, 1) == 20);
    Readings nobody("gone", {});
    CHECK(nobody.of(facts(), sample(1000, 0, 0)).values.empty());
}

TEST_CASE("what counts up is read from the second sample on") {
    Readings readings("train", {"GPU-a"});
    const auto first = readings.of(facts(), sample(1000, 500, 100));
    CHECK(value(first, Figure::memory) == 1500);
    CHECK_FALSE(value(first, Figure::cpu).has_value());
    CHECK_FALSE(value(first, Figure::network_received).has_value());
    const auto second = readings.of(facts(), sample(3000, 2500, 600));
    CHECK(value(second, Figure::cpu) == doctest::Approx((500 + 1500) / 2000.0));
    CHECK(value(second, Figure::network_received) == doctest::Approx(2000)); // both interfaces
    CHECK(value(second, Figure::network_sent) == doctest::Approx(2000));     // one says nothing of it
    CHECK_FALSE(value(second, Figure::rdma_sent).has_value());
    CHECK(value(second, Figure::disk_read) == doctest::Approx(3000));
    CHECK_FALSE(value(second, Figure::disk_written).has_value());
    const auto again = readings.of(facts(), sample(4000, 0, 700)); // counters that began anew
    CHECK_FALSE(value(again, Figure::network_received).has_value());
    auto other_network = facts();
    other_network.network = {"ib0", "eth1"};
    CHECK_FALSE(value(readings.of(other_network, sample(5000, 9000, 800)), Figure::network_sent).has_value());
}

TEST_CASE("a rank that came since the last sample counts with all that it has used") {
    Readings readings("train", {});
    auto before = sample(1000, 0, 100);
    before.ranks.erase(before.ranks.begin() + 1);
    (void)readings.of(facts(), before);
    const auto reading = readings.of(facts(), sample(2000, 0, 200));
    CHECK(value(reading, Figure::cpu) == doctest::Approx(0.1 + 0.6));
}

} // namespace readings_test

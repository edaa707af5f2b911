#include "shared/load/findings.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <utility>

namespace findings_test {

using namespace dockdist;
using Kind = Finding::Kind;

namespace {

constexpr std::uint64_t gib = 1ULL << 30U;

// A node of two GPUs, and seconds that take no time.
struct Cluster {
    FindingWatch watch{};
    wire::SampleFacts facts{.cpus = 8, .memory_bytes = 100 * gib};
    wire::Sample sample{.at_ms = 1, .clock_ms = 1000, .cpu_ms = 0, .memory_bytes = 40 * gib};

    Cluster() {
        for (int i = 0; i < 2; ++i) {
            facts.gpus.push_back({.index = i, .power_limit_w = 700, .most_clock_mhz = 1980});
            sample.gpus.push_back(gpu(0, 70));
        }
    }
    static wire::GpuSample gpu(double busy, double power, double clock = 1980) {
        return {.utilization_percent = busy, .power_w = power, .temperature_c = 60, .clock_mhz = clock};
    }
    void add_ranks(int count, const char* job = "j") {
        for (int i = 0; i < count; ++i) {
            sample.ranks.push_back({.job = job, .rank = i, .pid = i + 1, .memory_bytes = gib});
        }
    }
    void pass(int seconds, const std::function<void(wire::Sample&)>& each = [](wire::Sample&) {}) {
        for (int i = 0; i < seconds; ++i) {
            sample.clock_ms += 1000;
            each(sample);
            watch.hear("node-0", facts, sample);
        }
    }
    std::vector<std::string> said() const { return findings_text(watch.findings()); }
};

} // namespace

TEST_CASE("a GPU that is busy at low power for a minute waits") {
    Cluster c;
    c.sample.gpus[1] = Cluster::gpu(100, 100);
    c.pass(60);
    CHECK(c.said().empty());
    c.pass(1);
    CHECK(c.said() ==
          std::vector<std::string>{
              "node-0 GPU 1: 100 % busy at 100 W of 700 W for 1 min: it waits for others, as in a "
              "collective that goes over sockets; `dockdist check --deep` says which way it goes"});
    c.sample.gpus[1] = Cluster::gpu(100, 281); // 40 % and more is work
    c.pass(1);
    CHECK(c.said().empty());
    c.sample.gpus[1] = Cluster::gpu(100, 100); // the minute begins anew
    c.pass(60);
    CHECK(c.said().empty());
}

TEST_CASE("a pause of the figures ends the minute, and a GPU without a limit says nothing") {
    Cluster c;
    c.sample.gpus[0] = Cluster::gpu(100, 100);
    c.facts.gpus[0].power_limit_w.reset();
    c.sample.gpus[1] = Cluster::gpu(100, 100);
    c.pass(50);
    const auto figures = std::exchange(c.sample.gpus, {});
    c.pass(1);
    c.sample.gpus = figures;
    c.pass(50);
    CHECK(c.said().empty());
    c.pass(20);
    CHECK(c.said().size() == 1);
}

TEST_CASE("many GPUs of which the same is true share a sentence") {
    Cluster c;
    c.sample.gpus.assign(2, Cluster::gpu(100, 100));
    c.pass(61);
    REQUIRE(c.said().size() == 1);
    CHECK(c.said().front().starts_with(
        "2 GPUs of node-0: 100 % busy at 100 W of 700 W for 1 min (node-0 GPU 0):"));
    c.watch.forget("node-0");
    CHECK(c.said().empty());
}

TEST_CASE("a GPU that is slowed down by heat or by its hardware, and for no other reason") {
    Cluster c;
    c.sample.gpus[0].throttle = 0x4 | 0x1;
    c.pass(1);
    CHECK(c.said().empty());
    c.sample.gpus[0].temperature_c = 88;
    c.sample.gpus[0].clock_mhz = 1200;
    for (const auto hot : {0x20U, 0x40U | 0x8U}) { // what the hardware does for heat is heat
        c.sample.gpus[0].throttle = hot;
        c.pass(1);
        CHECK(c.said() == std::vector<std::string>{
                              "node-0 GPU 0: slowed down because too hot, at 88 °C, 1200 of 1980 MHz"});
    }
    for (const auto brake : {0x8U, 0x80U}) {
        c.sample.gpus[0].throttle = brake;
        c.pass(1);
        CHECK(c.said() ==
              std::vector<std::string>{
                  "node-0 GPU 0: slowed down by the hardware (a power brake, or the power supply), "
                  "at 88 °C, 1200 of 1980 MHz"});
    }
}

TEST_CASE("a full file system") {
    Cluster c;
    c.facts.disks = {{.path = "/", .size_bytes = 100 * gib}, {.path = "/dev/shm"}};
    c.sample.disk_bytes = {94 * gib, 5};
    c.pass(1);
    CHECK(c.said().empty());
    c.sample.disk_bytes = {96 * gib, std::nullopt};
    c.pass(1);
    CHECK(c.said() == std::vector<std::string>{"node-0: / has 4.0 GiB left of 100.0 GiB"});
}

TEST_CASE("memory that grows in each of ten minutes, with when it is full") {
    Cluster c;
    c.add_ranks(2);
    const auto grow = [](wire::Sample& sample) { sample.ranks[1].memory_bytes += gib / 60; };
    c.pass(60 * 9, grow);
    CHECK(c.said().empty());
    c.pass(120, grow);
    REQUIRE(c.said().size() == 1);
    CHECK(c.said().front() ==
          "node-0 rank 1 of j: its memory grows: 10.0 GiB more in 10 min: at this pace the "
          "node's memory is full in 1 h");
    c.sample.ranks[1].memory_bytes = gib; // it was a cache
    c.pass(60);
    CHECK(c.said().empty());
}

TEST_CASE("memory that goes up and down does not grow") {
    Cluster c;
    c.add_ranks(1);
    int second = 0;
    c.pass(60 * 15, [&](wire::Sample& sample) {
        sample.ranks[0].memory_bytes = gib * static_cast<std::uint64_t>(1 + second++ % 150);
    });
    CHECK(c.said().empty());
}

TEST_CASE("one rank that works while the others wait") {
    Cluster c;
    c.add_ranks(3);
    int second = 0;
    c.pass(70, [&](wire::Sample& sample) {
        ++second;
        sample.ranks[0].cpu_ms = sample.ranks[1].cpu_ms = second * 200;
        sample.ranks[2].cpu_ms = second * 1000;
    });
    CHECK(c.said() ==
          std::vector<std::string>{"node-0 rank 2 of j: slower than the rest: it keeps 1.0 CPUs busy, the "
                                   "others 0.2 or less"});
}

TEST_CASE("ranks that are alike, or two of them, have no slow one") {
    Cluster c;
    c.add_ranks(3);
    int second = 0;
    c.pass(70, [&](wire::Sample& sample) {
        ++second;
        for (auto& rank : sample.ranks) {
            rank.cpu_ms = second * (900 + rank.rank * 20);
        }
    });
    CHECK(c.said().empty());
    Cluster two;
    two.add_ranks(2);
    second = 0;
    two.pass(70, [&](wire::Sample& sample) { sample.ranks[1].cpu_ms = ++second * 1000; });
    CHECK(two.said().empty());
}

TEST_CASE("one rank's GPU has a lower clock, or alone draws power") {
    Cluster c;
    c.facts.gpus.push_back({.index = 2, .power_limit_w = 700, .most_clock_mhz = 1980});
    c.sample.gpus.assign(3, Cluster::gpu(100, 600));
    c.add_ranks(3);
    for (auto& rank : c.sample.ranks) {
        rank.gpus = {rank.rank};
    }
    c.sample.gpus[1].clock_mhz = 1200;
    c.pass(61);
    CHECK(c.said() ==
          std::vector<std::string>{"node-0 rank 1 of j: slower than the rest: its GPU runs at 1200 MHz, "
                                   "the others at 1980"});
    c.sample.gpus.assign(3, Cluster::gpu(100, 290));
    c.sample.gpus[2].power_w = 650;
    c.pass(61);
    CHECK(c.said() ==
          std::vector<std::string>{"node-0 rank 2 of j: slower than the rest: it works at 650 W while the "
                                   "others wait, at 290 W or less"});
}

TEST_CASE("ranks of several GPUs are compared by these, and not by what else one of them does") {
    Cluster c;
    c.facts.gpus.clear();
    for (int i = 0; i < 6; ++i) {
        c.facts.gpus.push_back({.index = i, .power_limit_w = 700, .most_clock_mhz = 1980});
    }
    c.sample.gpus.assign(6, Cluster::gpu(100, 600));
    c.add_ranks(3);
    for (auto& rank : c.sample.ranks) {
        rank.gpus = {2 * rank.rank, 2 * rank.rank + 1};
    }
    int second = 0;
    const auto serve = [&](wire::Sample& sample) { sample.ranks[0].cpu_ms = ++second * 3000; }; // HTTP
    c.pass(62, serve);
    CHECK(c.said().empty());
    c.sample.gpus[3].clock_mhz = 1200;
    c.pass(62, serve);
    CHECK(c.said() ==
          std::vector<std::string>{"node-0 rank 1 of j: slower than the rest: its GPU runs at 1200 MHz, "
                                   "the others at 1980"});
    c.sample.gpus.assign(6, wire::GpuSample{.power_w = 100}); // of which no load is known
    c.pass(62, serve);
    CHECK(c.said().size() == 1);
    CHECK(c.said().front().find("it keeps 3.0 CPUs busy") != std::string::npos);
}

TEST_CASE("a node whose clock does not go on begins anew, and cannot be heard for ever") {
    Cluster c;
    c.sample.gpus[1] = Cluster::gpu(100, 100);
    c.pass(61);
    CHECK(c.said().size() == 1);
    c.watch.hear("node-0", c.facts, c.sample);
    CHECK(c.said().empty());
    c.pass(60);
    CHECK(c.said().size() == 1);
}

TEST_CASE("a node whose nvidia-smi fails") {
    Cluster c;
    c.facts.gpu_problem = "nvidia-smi has ended with code 9";
    c.pass(1);
    CHECK(c.said() ==
          std::vector<std::string>{"GPUs of node-0: no figures: nvidia-smi has ended with code 9"});
    CHECK(std::string(name_of(c.watch.findings().front().kind)) == "no_figures");
    c.watch.hear("node-1", c.facts, c.sample);
    CHECK(c.said() ==
          std::vector<std::string>{"GPUs of node-0, node-1: no figures: nvidia-smi has ended with code 9"});
}

TEST_CASE("a GPU that is told of no more, while the others are") {
    Cluster c;
    c.sample.gpus[1] = {};
    c.pass(1);
    CHECK(c.said() ==
          std::vector<std::string>{"node-0 GPU 1: no figures: nvidia-smi no longer reports it: look for "
                                   "Xid errors in the host's dmesg"});
    c.sample.gpus.clear(); // then that is said of nvidia-smi
    c.pass(1);
    CHECK(c.said().empty());
}

TEST_CASE("what is found is the same for programs") {
    Cluster c;
    c.facts.disks = {{.path = "/data", .size_bytes = 100 * gib}};
    c.sample.disk_bytes = {99 * gib};
    c.pass(1);
    CHECK(finding_json(c.watch.findings().front()) ==
          nlohmann::json{{"kind", "disk_full"},
                         {"node", "node-0"},
                         {"gpu", nullptr},
                         {"job", nullptr},
                         {"rank", nullptr},
                         {"disk", "/data"},
                         {"text", "node-0: /data has 1.0 GiB left of 100.0 GiB"}});
}

} // namespace findings_test

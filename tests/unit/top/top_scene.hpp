// A cluster as `dockdist top` may see it: two nodes of four GPUs on which a job runs, and one that is away.
#pragma once

#include "client/top/top_model.hpp"

#include <string>

namespace dockdist {

inline wire::SampleFacts scene_facts(int gpus) {
    wire::SampleFacts facts{.cpus = 64, .memory_bytes = 1024ULL << 30U, .driver = "550.127.08"};
    for (int i = 0; i < gpus; ++i) {
        facts.gpus.push_back({.index = i,
                              .uuid = "GPU-" + std::to_string(i),
                              .name = "NVIDIA H100 80GB HBM3",
                              .memory_bytes = 80ULL << 30U,
                              .power_limit_w = 700,
                              .most_clock_mhz = 1980});
    }
    facts.disks = {{.path = "/", .size_bytes = 1000ULL << 30U}};
    facts.network = {"eth0"};
    return facts;
}

// The second-th sample of the node-th node; each has its own load.
inline wire::Sample scene_sample(int node, int gpus, int second, const std::string& job = "llama-7b") {
    const auto count = static_cast<std::uint64_t>(second);
    wire::Sample sample{.at_ms = 1'795'465'938'000 + second * 1000LL,
                        .clock_ms = second * 1000LL,
                        .cpu_ms = second * 1000LL * (8 + 4 * node),
                        .memory_bytes = 200ULL << 30U,
                        .disk_read = count << 20U,
                        .disk_written = count << 28U,
                        .disk_bytes = {{(node == 1 ? 985ULL : 400ULL) << 30U}}};
    sample.network = {{.received = count * 1'200'000'000, .sent = count * 1'100'000'000}};
    for (int i = 0; i < gpus; ++i) {
        const bool waits = node == 0 && i == 3;
        sample.gpus.push_back(
            {.utilization_percent = waits ? 100 : 40.0 + (second * 7 + i * 13 + node * 5) % 60,
             .memory_bytes = static_cast<std::uint64_t>(40 + i) << 30U,
             .power_w = waits ? 102 : 500 + 20 * i,
             .temperature_c = 60 + 8 * i,
             .clock_mhz = node == 1 && i == 2 ? 1410 : 1980,
             .throttle = node == 1 && i == 2 ? 0x20 : 0});
        sample.ranks.push_back({.job = job,
                                .rank = node * gpus + i,
                                .pid = 4200 + i,
                                .cpu_ms = second * (900LL + 10 * i),
                                .memory_bytes = 12ULL << 30U,
                                .gpus = {i}});
    }
    sample.ranks.push_back(
        {.job = job, .rank = -1, .pid = 4100, .cpu_ms = second * 10LL, .memory_bytes = 300ULL << 20U});
    return sample;
}

inline TopModel scene_model(const std::string& job = {}) {
    TopModel model("vision", {"node-0", "node-1", "node-2"}, job);
    for (int second = 1; second <= 75; ++second) {
        model.hear(0, scene_facts(4), scene_sample(0, 4, second));
        model.hear(1, scene_facts(4), scene_sample(1, 4, second));
    }
    model.lose(2, "tcp://10.0.0.3:2375 does not answer within 5 s");
    return model;
}

} // namespace dockdist

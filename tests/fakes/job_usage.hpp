// What a made-up job has used, for its screen and its page: nodes of two GPUs each, the last GPU of the last
// node rests, the last node is slower.
#pragma once

#include "client/job/job_report.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace dockdist {

inline JobReport made_up_job(int nodes) {
    using wire::Figure;
    constexpr double gib = 1 << 30;
    JobReport job{.job = JobId("job-1a2b3c4d"),
                  .state = JobState::failed,
                  .started_ms = 1772300000000,
                  .duration_ms = 1'200'000,
                  .exit_code = 7,
                  .first_failure =
                      wire::JobFailure{.node = "node-1",
                                       .rank = 3,
                                       .code = 7,
                                       .tail = "Traceback <b>&\x1b[2J\nRuntimeError: no more data\n",
                                       .cause = "the loss is not a number",
                                       .advice = "look at the learning rate"},
                  .command = {"python", "train.py", "--name", "<script>alert(1)</script>"},
                  .owner = "ada@desk"};
    for (int i = 0; i < nodes; ++i) {
        const NodeName node("node-" + std::to_string(i));
        const bool last = i + 1 == nodes;
        const double load = last ? 44 : 91;
        job.nodes.push_back(node);
        job.outcomes.push_back({.node = node, .result = wire::JobResult{}});
        job.usage.push_back(
            {.node = node,
             .usage = {
                 .gpus = 2,
                 .duration_ms = 1'200'000,
                 .figures = {
                     {.figure = Figure::gpu_utilization,
                      .mean = load,
                      .peak = 100,
                      .seconds = 2400,
                      .peak_gpu = 0},
                     {.figure = Figure::gpu_memory,
                      .mean = 61.2 * gib,
                      .peak = (70 + i) * gib,
                      .seconds = 2400,
                      .peak_gpu = 1},
                     {.figure = Figure::gpu_power,
                      .mean = 4 * load,
                      .peak = 640,
                      .seconds = 2400,
                      .peak_gpu = 0},
                     {.figure = Figure::gpu_temperature,
                      .mean = 60,
                      .peak = 71,
                      .seconds = 2400,
                      .peak_gpu = 0},
                     {.figure = Figure::gpu_clock,
                      .mean = 1902,
                      .peak = 1980,
                      .seconds = 2400,
                      .peak_gpu = 0},
                     {.figure = Figure::cpu, .mean = 11.5, .peak = 15.8, .seconds = 1200},
                     {.figure = Figure::memory, .mean = 30 * gib, .peak = 34 * gib, .seconds = 1200},
                     {.figure = Figure::network_received, .mean = gib / 100, .peak = gib, .seconds = 1200},
                     {.figure = Figure::network_sent, .mean = gib / 90, .peak = gib, .seconds = 1200},
                     {.figure = Figure::rdma_received, .mean = 0, .peak = 0, .seconds = 1200},
                     {.figure = Figure::rdma_sent, .mean = 0, .peak = 0, .seconds = 1200},
                     {.figure = Figure::disk_read, .mean = gib / 40, .peak = gib / 2, .seconds = 1200},
                     {.figure = Figure::disk_written,
                      .mean = gib / 500,
                      .peak = gib / 4,
                      .seconds = 1200}}}});
    }
    if (nodes > 0) {
        job.usage.back().usage.findings = {
            {.gpu = 0, .for_ms = 72'000, .about = "102 W of 700 W"},
            {.kind = wire::Finding::Kind::disk_full, .disk = "/data", .about = "1.0 GiB left of 2.0 TiB"}};
    }
    if (nodes > 1) {
        auto& failed = *job.outcomes[1].result;
        failed.code = 7;
        failed.failures.push_back(*job.first_failure);
    }
    return job;
}

// Over twenty minutes; between the tenth and the eleventh nothing was measured.
inline std::vector<NodeHistory> made_up_histories(int nodes, int points) {
    using wire::Figure;
    std::vector<NodeHistory> histories;
    for (int i = 0; i < nodes; ++i) {
        auto& [node, history] = histories.emplace_back();
        node = NodeName("node-" + std::to_string(i));
        history.started_ms = 1772300000000 + i * 3'600'000; // clocks differ
        history.step_ms = 1'200'000 / points;
        const auto add = [&](Figure figure, int gpu, double mean, double sway) {
            auto& curve = history.curves.emplace_back(wire::Curve{.figure = figure, .gpu = gpu});
            for (int p = 0; p < points; ++p) {
                const auto value = mean + sway * std::sin(0.5 * p + gpu + i);
                auto& point = curve.points.emplace_back();
                if (p * 20 / points != 10) {
                    point = wire::CurvePoint{.least = value * 0.9, .mean = value, .most = value * 1.05};
                }
            }
        };
        for (int gpu = 0; gpu < 2; ++gpu) {
            const bool rests = i + 1 == nodes && gpu == 1;
            add(Figure::gpu_utilization, gpu, rests ? 0 : 88, rests ? 0 : 6);
            add(Figure::gpu_power, gpu, rests ? 70 : 520, rests ? 1 : 60);
            add(Figure::gpu_memory, gpu, 6e10, 1e9);
            add(Figure::gpu_temperature, gpu, 58, 5);
            add(Figure::gpu_clock, gpu, rests ? 345 : 1900, 40);
        }
        add(Figure::cpu, -1, 11, 3);
        add(Figure::memory, -1, 3e10, 1e9);
        add(Figure::network_received, -1, 9e8, 4e8);
        add(Figure::network_sent, -1, 8e8, 4e8);
        add(Figure::rdma_received, -1, 0, 0);
        add(Figure::rdma_sent, -1, 0, 0);
        add(Figure::disk_read, -1, 3e7, 1e7);
        add(Figure::disk_written, -1, 2e6, 1e6);
    }
    return histories;
}

} // namespace dockdist

// What a job has used on all of its nodes together, and how that is said. Pure.
#pragma once

#include "shared/core/names.hpp"
#include "shared/wire/job_usage.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

struct NodeUsage {
    NodeName node{};
    wire::JobUsage usage{};
    bool spare = false; // the job holds it in reserve, or did when it ended
};

// How a node's figures went over the time. Nodes' clocks may differ: the first points of all are of one time.
struct NodeHistory {
    NodeName node{};
    wire::JobHistory history{};
};

// A figure over all nodes: the mean is that of a node (of GPUs: of a GPU; of network, RDMA and disk: of a
// host), weighted by the time for which it was measured; the peak is that of the one which had it. The GPU
// load is that of the nodes that are no spares.
struct FigureSum {
    wire::Figure figure = wire::Figure::cpu;
    double mean = 0, peak = 0;
    double seconds = 0; // of all nodes, GPUs or hosts together
    NodeName peak_node{};
    int peak_gpu = -1;
    double total() const { return mean * seconds; } // where FigureFacts::total names it
};
struct UsageSum {
    int gpus = 0;                     // that the job has, or had
    double gpu_hours = 0;             // for which it had them
    std::int64_t duration_ms = 0;     // of the part that ran longest; 0: nothing is known
    std::vector<FigureSum> figures{}; // in the order of the enum; what no node has measured is not there
    const FigureSum* find(wire::Figure figure) const;
};
UsageSum sum_usage(const std::vector<NodeUsage>& nodes);

// A figure's value with its unit: "87 %", "61.2 GiB", "610 W", "61 °C", "12.3 cores", "1.2 GiB/s".
std::string figure_text(wire::Figure figure, double value);
// "GPU load", "GPU memory", "network in".
std::string figure_title(wire::Figure figure);
// "0.0014", "12.3", "1250".
std::string hours_text(double hours);
std::string energy_text(double joule); // "1.20 kWh", "35.1 Wh"
// Of what FigureFacts::total names: "1.20 kWh", "0.5 core hours", "12.3 GiB"; empty where it names nothing.
std::string total_text(const FigureSum& sum);

// "3 min 20 s, 0.22 GPU hours; GPU load 87 % (peak 100 %), …", for the end of a run; empty where nothing was
// measured.
std::string usage_line(const UsageSum& usage);

// {"gpus":4,"gpu_hours":0.2,"gpu_power_w":{"mean":…,"peak":…,"peak_node":…,"peak_gpu":…},…,"energy_j":…}; a
// figure that was not measured has no key.
nlohmann::json usage_json(const UsageSum& usage);

} // namespace dockdist

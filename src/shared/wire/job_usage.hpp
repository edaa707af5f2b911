// What a job has used of one node, reckoned there from samples while it ran: for each figure the mean and the
// peak, how both went over the time, and what there was to say of it.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/finding.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

// Those of GPUs are of one of the job's own GPUs each; cpu and memory are of the job's processes together,
// network, RDMA and disk of all interfaces, ports and disks of the node's host, whoever uses them.
enum class Figure {
    gpu_utilization,  // percent
    gpu_memory,       // bytes
    gpu_power,        // W
    gpu_temperature,  // °C
    gpu_clock,        // MHz, of its SMs
    cpu,              // cores
    memory,           // bytes
    network_received, // bytes/s, as all that follow
    network_sent,
    rdma_received,
    rdma_sent,
    disk_read,
    disk_written,
};
struct FigureFacts {
    Figure figure = Figure::cpu;
    const char* name = ""; // in JSON, with its unit: "gpu_power_w"
    bool of_gpu = false;
    double resolution = 1;  // what is kept of it
    const char* total = ""; // in JSON, of what mean × seconds is: "energy_j"; empty: it has no meaning
};
std::span<const FigureFacts> all_figures();
const FigureFacts& facts_of(Figure figure);

// What is absent was never measured: no figure stands for "none".
struct FigureUse {
    Figure figure = Figure::cpu;
    double mean = 0;    // over the time, of GPUs over all of them
    double peak = 0;    // of GPUs that of the one which had it
    double seconds = 0; // that the mean is of; of GPUs those of all of them together
    int peak_gpu = -1;  // its index on the node; -1: the figure is of no GPU
    bool operator==(const FigureUse&) const = default;
};
inline constexpr std::size_t longest_host_mark = 128; // bytes
struct JobUsage {
    int gpus = 0;                 // that the job has to itself there
    std::int64_t duration_ms = 0; // of its part; 0: nothing is known
    // What the nodes of one host, which see the same interfaces and disks, have in common, and no others.
    // Empty: not told.
    std::string host{};
    std::vector<FigureUse> figures{}; // each once, in the order of the enum
    std::vector<Finding> findings{};  // most_kept_findings; without node and job
    bool operator==(const JobUsage&) const = default;
};

// A figure over the time. Points are `JobHistory::step_ms` long each; one without a value is absent.
struct CurvePoint {
    double least = 0, mean = 0, most = 0;
    bool operator==(const CurvePoint&) const = default;
};
struct Curve {
    Figure figure = Figure::cpu;
    int gpu = -1; // index; -1: of no GPU
    std::vector<std::optional<CurvePoint>> points{};
    bool operator==(const Curve&) const = default;
};

inline constexpr std::size_t most_curve_points = 1000; // that a node keeps

// `<jobs>/<id>/history.json`, and what `dockdist-init job history JOB POINTS` prints in one line, with at
// most so many points.
struct JobHistory {
    std::int64_t started_ms = 0; // of the first point, since 1970, by the node's clock
    std::int64_t step_ms = 1000;
    std::vector<Curve> curves{};
    bool operator==(const JobHistory&) const = default;
};

std::string job_history_line(const JobHistory& history); // with '\n'
Result<JobHistory> parse_job_history(std::string_view line);

void to_json(nlohmann::json& json, const JobUsage& usage);
void read_fields(ObjectReader& reader, JobUsage& usage);

} // namespace dockdist::wire

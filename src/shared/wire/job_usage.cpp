#include "shared/wire/job_usage.hpp"

#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dockdist::wire {

using nlohmann::json;

namespace {

constexpr double mib = 1 << 20;
constexpr std::array<FigureFacts, 13> figure_table{
    {{Figure::gpu_utilization, "gpu_utilization_percent", true, 0.1, ""},
     {Figure::gpu_memory, "gpu_memory_bytes", true, mib, ""},
     {Figure::gpu_power, "gpu_power_w", true, 0.1, "energy_j"},
     {Figure::gpu_temperature, "gpu_temperature_c", true, 0.1, ""},
     {Figure::gpu_clock, "gpu_clock_mhz", true, 1, ""},
     {Figure::cpu, "cpu_cores", false, 0.001, "cpu_s"},
     {Figure::memory, "memory_bytes", false, 4096, ""},
     {Figure::network_received, "network_received_bytes_per_s", false, 1, "network_received_bytes"},
     {Figure::network_sent, "network_sent_bytes_per_s", false, 1, "network_sent_bytes"},
     {Figure::rdma_received, "rdma_received_bytes_per_s", false, 1, "rdma_received_bytes"},
     {Figure::rdma_sent, "rdma_sent_bytes_per_s", false, 1, "rdma_sent_bytes"},
     {Figure::disk_read, "disk_read_bytes_per_s", false, 1, "disk_read_bytes"},
     {Figure::disk_written, "disk_written_bytes_per_s", false, 1, "disk_written_bytes"}}};

constexpr int most_gpu = 1023;                          // index
constexpr std::size_t most_curves = 4096;               // of a node
constexpr double highest = 1e18;                        // of any figure, and of seconds
constexpr std::int64_t longest_step_ms = 1'000'000'000; // eleven days
constexpr std::int64_t latest_start_ms = std::int64_t{1} << 42;

// What stands for nothing else than the figure: 71.30000000000001 is 71.3.
json rounded(double value, double resolution) {
    constexpr double exact = 1e12; // beyond it a tenth of a figure is not to be had
    if (resolution < 1 && std::abs(value) > exact) {
        return value;
    }
    const auto steps = std::round(value / resolution);
    if (resolution >= 1) {
        return static_cast<std::int64_t>(steps * resolution);
    }
    return steps / std::round(1 / resolution);
}

bool read_figure(ObjectReader& reader, Figure& figure) {
    std::string name;
    reader.require("figure");
    reader.read("figure", name);
    const auto* const found =
        std::ranges::find_if(figure_table, [&](const FigureFacts& facts) { return facts.name == name; });
    if (found == figure_table.end()) {
        return false; // of a later dockdist
    }
    figure = found->figure;
    return true;
}

void read_value(ObjectReader& reader, const char* key, double& value) {
    reader.read(key, value);
    if (!(value >= -highest && value <= highest)) { // nor NaN
        reader.fail("\"" + std::string(key) + "\" is out of range");
    }
}

using Values = std::vector<std::optional<double>>;

bool read_values(ObjectReader& reader, const char* key, Values& values) {
    const auto* array = reader.array(key);
    if (array == nullptr) {
        return false;
    }
    if (array->size() > most_curve_points) {
        reader.fail("\"" + std::string(key) + "\" has too many points");
        return false;
    }
    for (const auto& value : *array) {
        if (value.is_null()) {
            values.emplace_back();
        } else if (value.is_number() && std::abs(value.get<double>()) <= highest) {
            values.emplace_back(value.get<double>());
        } else {
            reader.fail("\"" + std::string(key) + "\" must be an array of numbers");
            return false;
        }
    }
    return true;
}

void read_curve(ObjectReader& reader, std::vector<Curve>& curves) {
    Curve curve;
    if (!read_figure(reader, curve.figure)) {
        return;
    }
    reader.read("gpu", curve.gpu, -1, most_gpu);
    Values mean;
    if (!read_values(reader, "mean", mean)) {
        return;
    }
    auto least = mean;
    auto most = mean;
    for (const auto& [key, values] : {std::pair{"least", &least}, {"most", &most}}) {
        if (reader.any(key) != nullptr) {
            values->clear();
            (void)read_values(reader, key, *values);
        }
    }
    if (least.size() != mean.size() || most.size() != mean.size()) {
        return reader.fail("\"least\", \"mean\" and \"most\" are not of one length");
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
        auto& point = curve.points.emplace_back();
        if (mean[i] && least[i] && most[i]) {
            point = CurvePoint{.least = *least[i], .mean = *mean[i], .most = *most[i]};
        }
    }
    curves.push_back(std::move(curve));
}

json curve_object(const Curve& curve) {
    const auto& facts = facts_of(curve.figure);
    json object{{"figure", facts.name}};
    if (curve.gpu >= 0) {
        object["gpu"] = curve.gpu;
    }
    const bool spread = std::ranges::any_of(
        curve.points, [](const auto& point) { return point && point->least != point->most; });
    const auto put = [&](const char* key, double CurvePoint::* value) {
        auto values = json::array();
        for (const auto& point : curve.points) {
            values.push_back(point ? rounded((*point).*value, facts.resolution) : json());
        }
        object[key] = std::move(values);
    };
    put("mean", &CurvePoint::mean);
    if (spread) {
        put("least", &CurvePoint::least);
        put("most", &CurvePoint::most);
    }
    return object;
}

} // namespace

std::span<const FigureFacts> all_figures() {
    return figure_table;
}

const FigureFacts& facts_of(Figure figure) {
    return figure_table.at(static_cast<std::size_t>(figure));
}

std::string job_history_line(const JobHistory& history) {
    json object{{"started_ms", history.started_ms}, {"step_ms", history.step_ms}, {"curves", json::array()}};
    for (const auto& curve : history.curves) {
        object["curves"].push_back(curve_object(curve));
    }
    return dump(object) + "\n";
}

Result<JobHistory> parse_job_history(std::string_view line) {
    const auto object = parse_object(line, "a job's history");
    TRY(object);
    JobHistory history;
    ObjectReader reader(*object, "a job's history");
    reader.read("started_ms", history.started_ms, 0, latest_start_ms);
    reader.read("step_ms", history.step_ms, 1, longest_step_ms);
    read_objects(reader, "curves", [&](ObjectReader& curve) {
        if (history.curves.size() >= most_curves) {
            return curve.fail("there are too many");
        }
        read_curve(curve, history.curves);
    });
    if (reader.failed()) {
        return reader.error();
    }
    return history;
}

void to_json(json& out, const JobUsage& usage) {
    out = json{{"gpus", usage.gpus}, {"duration_ms", usage.duration_ms}, {"figures", json::array()}};
    if (!usage.host.empty()) {
        out["host"] = usage.host;
    }
    for (const auto& use : usage.figures) {
        const auto& facts = facts_of(use.figure);
        json object{{"figure", facts.name},
                    {"mean", use.mean},
                    {"peak", rounded(use.peak, facts.resolution)},
                    {"seconds", rounded(use.seconds, 0.001)}};
        if (use.peak_gpu >= 0) {
            object["peak_gpu"] = use.peak_gpu;
        }
        out["figures"].push_back(std::move(object));
    }
    if (!usage.findings.empty()) {
        out["findings"] = usage.findings;
    }
}

void read_fields(ObjectReader& reader, JobUsage& usage) {
    reader.read("gpus", usage.gpus, 0, most_gpu + 1);
    reader.read("duration_ms", usage.duration_ms, 0, latest_start_ms);
    reader.read("host", usage.host);
    if (usage.host.size() > longest_host_mark) {
        reader.fail("\"host\" is too long");
    }
    read_objects(reader, "figures", [&](ObjectReader& object) {
        FigureUse use;
        if (!read_figure(object, use.figure)) {
            return;
        }
        read_value(object, "mean", use.mean);
        read_value(object, "peak", use.peak);
        read_value(object, "seconds", use.seconds);
        object.read("peak_gpu", use.peak_gpu, -1, most_gpu);
        if (use.seconds < 0) {
            object.fail("\"seconds\" is negative");
        }
        if (std::ranges::find(usage.figures, use.figure, &FigureUse::figure) != usage.figures.end()) {
            object.fail("a figure is there twice");
        }
        usage.figures.push_back(use);
    });
    std::ranges::sort(usage.figures, {}, &FigureUse::figure);
    read_objects(reader, "findings", [&](ObjectReader& object) {
        Finding finding;
        if (!read_fields(object, finding)) {
            return;
        }
        if (usage.findings.size() == most_kept_findings) {
            return object.fail("there are too many");
        }
        usage.findings.push_back(std::move(finding));
    });
}

} // namespace dockdist::wire

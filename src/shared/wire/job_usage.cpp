#include "shared/wire/job_usage.hpp"

#include "shared/wire/fields.hpp"

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

void read_figure_value(ObjectReader& reader, const char* key, double& value) {
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

json curve_objects(const std::vector<Curve>& curves) {
    auto array = json::array();
    for (const auto& curve : curves) {
        array.push_back(curve_object(curve));
    }
    return array;
}

void read_curves(ObjectReader& reader, const char* key, std::vector<Curve>& curves) {
    read_objects(reader, key, [&](ObjectReader& curve) {
        if (curves.size() >= most_curves) {
            return curve.fail("there are too many");
        }
        read_curve(curve, curves);
    });
}

} // namespace

std::span<const FigureFacts> all_figures() {
    return figure_table;
}

const FigureFacts& facts_of(Figure figure) {
    return figure_table.at(static_cast<std::size_t>(figure));
}

// Of the resolution that is kept of it.
auto figure_of(auto& value, double resolution) {
    return by(value, [resolution](double known) { return rounded(known, resolution); }, read_figure_value);
}

void fields_of(auto& fields, Of<FigureUse> auto& use) {
    const auto& facts = facts_of(use.figure);
    fields.constant("figure", facts.name); // read before
    fields("mean", read_by(use.mean, read_figure_value));
    fields("peak", figure_of(use.peak, facts.resolution));
    fields("seconds", figure_of(use.seconds, 0.001));
    fields.when(use.peak_gpu >= 0, "peak_gpu", use.peak_gpu, -1, most_gpu);
    fields.check(use.seconds >= 0, "\"seconds\" is negative");
}

namespace {

// What a later dockdist knows beside these is left out.
void read_figures(ObjectReader& reader, const char* key, std::vector<FigureUse>& figures) {
    read_objects(reader, key, [&](ObjectReader& object) {
        FigureUse use;
        if (!read_figure(object, use.figure)) {
            return;
        }
        read_listed(object, use);
        if (std::ranges::find(figures, use.figure, &FigureUse::figure) != figures.end()) {
            object.fail("a figure is there twice");
        }
        figures.push_back(use);
    });
    std::ranges::sort(figures, {}, &FigureUse::figure);
}

void read_findings(ObjectReader& reader, const char* key, std::vector<Finding>& findings) {
    read_objects(reader, key, [&](ObjectReader& object) {
        Finding finding;
        if (!read_fields(object, finding)) {
            return;
        }
        if (findings.size() == most_kept_findings) {
            return object.fail("there are too many");
        }
        findings.push_back(std::move(finding));
    });
}

} // namespace

void fields_of(auto& fields, Of<JobUsage> auto& usage) {
    fields("gpus", usage.gpus, 0, most_gpu + 1);
    fields("duration_ms", usage.duration_ms, 0, latest_start_ms);
    fields.omit_empty("host", usage.host, longest_host_mark);
    fields("figures", read_by(usage.figures, read_figures));
    fields.omit_empty("findings", read_by(usage.findings, read_findings));
}
DEFINE_BY_FIELDS(JobUsage)

void fields_of(auto& fields, Of<JobHistory> auto& history) {
    fields("started_ms", history.started_ms, 0, latest_start_ms);
    fields("step_ms", history.step_ms, 1, longest_step_ms);
    fields("curves", by(history.curves, curve_objects, read_curves));
}

std::string job_history_line(const JobHistory& history) {
    return line_of(history);
}

Result<JobHistory> parse_job_history(std::string_view line) {
    return parse<JobHistory>(line, "a job's history");
}

} // namespace dockdist::wire

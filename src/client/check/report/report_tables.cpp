#include "client/check/report/report_tables.hpp"

#include "shared/core/counted.hpp"
#include "shared/core/median.hpp"
#include "shared/core/units.hpp"
#include "shared/measurement/slow_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace dockdist {
namespace {

std::string optional_number(const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : "-";
}

// Three digits that mean something, two of small ones.
std::string significant(double value) {
    return value >= 100
               ? fmt::format("{:.0f}", value)
               : (value >= 10 ? fmt::format("{:.1f}", value)
                              : (value >= 1 ? fmt::format("{:.2f}", value) : fmt::format("{:.2g}", value)));
}

std::string peak_cell(const std::vector<const CollectiveMeasurement*>& measurements, bool least) {
    if (measurements.empty()) {
        return "-";
    }
    std::vector<double> values;
    for (const auto* measurement : measurements) {
        values.push_back(measurement->bus_bandwidth);
    }
    if (std::ranges::all_of(measurements,
                            [](const CollectiveMeasurement* measurement) { return measurement->copy; })) {
        return "copy";
    }
    return significant(least ? *std::ranges::min_element(values) : median(values));
}

Matrix square(const CheckReport& report, std::string title, std::string unit) {
    Matrix matrix{.title = std::move(title), .unit = std::move(unit)};
    for (const auto& node : report.nodes) {
        matrix.names.push_back(node.str());
    }
    matrix.values.resize(report.nodes.size() * report.nodes.size());
    matrix.slow.resize(matrix.values.size());
    return matrix;
}

Matrix link_matrix(const CheckReport& report, std::string title, std::string unit,
                   const std::function<std::optional<double>(const LinkMeasurement&)>& value) {
    auto matrix = square(report, std::move(title), std::move(unit));
    for (const auto& link : report.links) {
        if (link.from < report.nodes.size() && link.to < report.nodes.size()) {
            const auto place = link.from * report.nodes.size() + link.to;
            matrix.values[place] = value(link);
            matrix.slow[place] = link.slow;
        }
    }
    return matrix;
}

// As the row that names them judges them (shared/measurement/slow_link.hpp).
void mark_slow_pairs(Matrix& matrix) {
    const auto nodes = matrix.names.size();
    std::vector<PairMeasurement> pairs;
    for (std::size_t first = 0; first < nodes; ++first) {
        for (auto second = first + 1; second < nodes; ++second) {
            if (const auto& value = matrix.values[first * nodes + second]) {
                pairs.push_back({.pair = {first, second}, .bandwidth = *value});
            }
        }
    }
    const auto slow = find_slow(nodes, pairs);
    for (const auto& [pair, bandwidth] : pairs) {
        const auto is_slow = [&](std::size_t node) {
            return std::ranges::find(slow.nodes, node) != slow.nodes.end();
        };
        const bool marked = is_slow(pair.first) || is_slow(pair.second) ||
                            std::ranges::find(slow.links, pair) != slow.links.end();
        matrix.slow[pair.first * nodes + pair.second] = marked;
        matrix.slow[pair.second * nodes + pair.first] = marked;
    }
}

} // namespace

std::string_view to_string(CheckLayer layer) {
    switch (layer) {
    case CheckLayer::engine:
        return "engine";
    case CheckLayer::host:
        return "host";
    case CheckLayer::container:
        return "container";
    case CheckLayer::network:
        return "network";
    case CheckLayer::collective:
        return "collective";
    }
    return "";
}

std::string_view to_string(CheckRow::State state) {
    switch (state) {
    case CheckRow::State::pass:
        return "pass";
    case CheckRow::State::warn:
        return "warn";
    case CheckRow::State::fail:
        return "fail";
    }
    return "";
}

std::string verdict(const CheckReport& report) {
    const auto count = [&](CheckRow::State state) {
        return std::ranges::count(report.rows, state, &CheckRow::state);
    };
    const auto failed = count(CheckRow::State::fail);
    const auto warned = count(CheckRow::State::warn);
    const auto total = std::ssize(report.rows);
    auto text = failed > 0 ? fmt::format("{} of {} failed", failed, counted(total, "check"))
                           : fmt::format("{} passed", counted(total - warned, "check"));
    if (warned > 0) {
        text += fmt::format(", {}", counted(warned, "warning"));
    }
    return text;
}

Scope scope_of(const CollectiveMeasurement& measurement, std::size_t nodes) {
    if (measurement.nodes.size() == 1) {
        return Scope::node;
    }
    return measurement.nodes.size() == nodes ? Scope::all : Scope::pair;
}

CellTable gpu_table(const CheckReport& report) {
    const auto figure = [](const char* title, int give_up) {
        return Column{.title = title, .align = Align::right, .fold = Fold::any, .give_up = give_up};
    };
    CellTable table{.columns = {{.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle},
                                figure("GPU", 0),
                                {.title = "NAME", .narrow = Narrow::end, .give_up = 7, .least = 12},
                                figure("MEMORY MiB", 8),
                                figure("UTIL %", 6),
                                figure("TEMP °C", 4),
                                figure("POWER W", 3),
                                {.title = "DRIVER", .give_up = 2},
                                {.title = "CUDA", .give_up = 1}}};
    for (const auto& node : report.gpus) {
        for (const auto& gpu : node.gpus) {
            table.rows.push_back(
                {node.node.str(), std::to_string(gpu.index), gpu.name,
                 optional_number(gpu.memory_used_mib) + " / " + optional_number(gpu.memory_total_mib),
                 optional_number(gpu.utilization_percent), optional_number(gpu.temperature_c),
                 optional_number(gpu.power_w), gpu.driver, node.cuda});
        }
    }
    return table;
}

CellTable collective_table(const CheckReport& report) {
    struct Group {
        std::string operation{}, data_type{};
        std::map<std::vector<std::size_t>, const CollectiveMeasurement*> largest{};
    };
    std::vector<Group> groups;
    for (const auto& measurement : report.collectives) {
        auto group = std::ranges::find_if(groups, [&](const Group& known) {
            return known.operation == measurement.operation && known.data_type == measurement.data_type;
        });
        if (group == groups.end()) {
            group = groups.insert(group,
                                  {.operation = measurement.operation, .data_type = measurement.data_type});
        }
        auto& largest = group->largest[measurement.nodes];
        if (largest == nullptr || largest->bytes < measurement.bytes) {
            largest = &measurement;
        }
    }
    bool pairs = false;
    for (const auto& measurement : report.collectives) {
        pairs = pairs || scope_of(measurement, report.nodes.size()) == Scope::pair;
    }
    const bool several = report.nodes.size() > 1;
    const auto figure = [](const char* title, int give_up) {
        return Column{.title = title, .align = Align::right, .give_up = give_up};
    };
    CellTable table{.columns = {{"OPERATION"}, {"TYPE"}, figure("SIZE", 1)}};
    table.columns.push_back(figure(several ? "SLOWEST NODE" : "NODE", several ? 4 : 0));
    if (several) {
        table.columns.push_back(figure("MEDIAN NODE", 2));
    }
    if (pairs) {
        table.columns.push_back(figure("SLOWEST PAIR", 5));
        table.columns.push_back(figure("MEDIAN PAIR", 3));
    }
    if (several) {
        table.columns.push_back(figure("ALL NODES", 0));
    }
    for (const auto& group : groups) {
        std::vector<const CollectiveMeasurement*> scopes[3];
        std::uint64_t bytes = 0;
        for (const auto& [nodes, measurement] : group.largest) {
            scopes[static_cast<std::size_t>(scope_of(*measurement, report.nodes.size()))].push_back(
                measurement);
            bytes = std::max(bytes, measurement->bytes);
        }
        std::vector<std::string> row{group.operation, group.data_type, short_size(bytes),
                                     peak_cell(scopes[0], true)};
        if (several) {
            row.push_back(peak_cell(scopes[0], false));
        }
        if (pairs) {
            row.push_back(peak_cell(scopes[1], true));
            row.push_back(peak_cell(scopes[1], false));
        }
        if (several) {
            row.push_back(peak_cell(scopes[2], false));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

bool Matrix::empty() const {
    return std::ranges::none_of(values, [](const auto& value) { return value.has_value(); });
}

std::string Matrix::cell(std::size_t from, std::size_t to) const {
    const auto& value = values[from * names.size() + to];
    return value ? significant(*value) : "-";
}

Matrix bandwidth_matrix(const CheckReport& report) {
    return link_matrix(report, "TCP bandwidth", "Gbit/s",
                       [](const LinkMeasurement& link) -> std::optional<double> {
                           return link.bandwidth ? std::optional(*link.bandwidth * 8 / 1e9) : std::nullopt;
                       });
}

Matrix latency_matrix(const CheckReport& report) {
    auto matrix = link_matrix(report, "TCP round trip", "µs",
                              [](const LinkMeasurement& link) { return link.latency_us; });
    matrix.less_is_better = true;
    matrix.slow.assign(matrix.slow.size(), false); // what is slow is judged by bandwidth
    return matrix;
}

Matrix pair_matrix(const CheckReport& report) {
    auto matrix = square(report, "NCCL all_reduce between two nodes", "GB/s bus bandwidth");
    matrix.symmetric = true;
    std::vector<std::uint64_t> largest(matrix.values.size());
    for (const auto& measurement : report.collectives) {
        if (measurement.nodes.size() != 2 || measurement.operation != "all_reduce") {
            continue;
        }
        const auto first = measurement.nodes[0] * report.nodes.size() + measurement.nodes[1];
        const auto second = measurement.nodes[1] * report.nodes.size() + measurement.nodes[0];
        if (measurement.bytes > largest[first]) {
            largest[first] = measurement.bytes;
            matrix.values[first] = matrix.values[second] = measurement.bus_bandwidth;
        }
    }
    mark_slow_pairs(matrix);
    return matrix;
}

std::string short_size(std::uint64_t bytes) {
    static constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    auto rest = bytes;
    while (rest >= 1024 && rest % 1024 == 0 && unit + 1 < std::size(units)) {
        rest /= 1024;
        ++unit;
    }
    return rest < 1024 ? fmt::format("{} {}", rest, units[unit]) : format_size(Bytes{bytes});
}

} // namespace dockdist

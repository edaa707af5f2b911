#include "client/check/report/report_text.hpp"

#include "client/check/report/report_tables.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace dockdist {
namespace {

constexpr std::size_t widest_matrix = 12; // nodes
constexpr std::size_t widest_where = 32;
constexpr std::size_t most_findings = 60; // two screens, before those of one check become one
constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

std::string matrix_text(const Matrix& matrix, const OutputTraits& output) {
    if (matrix.empty()) {
        return "";
    }
    const auto elsewhere = [&] {
        return laid_out(fmt::format("\n{} of {} nodes: see --report FILE.html or -o json\n", matrix.title,
                                    matrix.names.size()),
                        output);
    };
    if (matrix.names.size() > widest_matrix) {
        return elsewhere();
    }
    std::vector<Column> columns{{matrix.symmetric ? "" : "FROM \\ TO"}};
    for (const auto& name : matrix.names) {
        columns.push_back({name, Align::right});
    }
    Table table(std::move(columns));
    bool slow = false;
    for (std::size_t from = 0; from < matrix.names.size(); ++from) {
        std::vector<std::string> row{matrix.names[from]};
        for (std::size_t to = 0; to < matrix.names.size(); ++to) {
            const bool marked = matrix.slow[from * matrix.names.size() + to];
            slow = slow || marked;
            row.push_back((marked ? "! " : "") + matrix.cell(from, to));
        }
        table.add_row(std::move(row));
    }
    if (output.columns > 0 && table.natural_width() > output.columns) { // half a figure is a wrong one
        return elsewhere();
    }
    return laid_out(fmt::format("\n{}, {}{}\n", matrix.title, matrix.unit,
                                slow ? " (!: slow beside the others)" : ""),
                    output) +
           table.to_text(everything, output);
}

// A line for each advice; of more than `most_lines` one for each check, with the first advice.
std::string what_to_do(const CheckReport& report, std::size_t most_lines) {
    using Line = std::tuple<std::string, std::string, std::vector<std::string>>; // check, advice, of whom
    const auto lines_of = [&](bool each_advice) {
        std::vector<Line> lines;
        for (const auto& row : report.rows) {
            if (row.hint.empty()) {
                continue;
            }
            const auto at = std::ranges::find_if(lines, [&](const Line& line) {
                return std::get<0>(line) == row.check && (!each_advice || std::get<1>(line) == row.hint);
            });
            auto& line =
                at != lines.end() ? *at : lines.emplace_back(row.check, row.hint, std::vector<std::string>{});
            std::get<2>(line).push_back(row.subject);
        }
        return lines;
    };
    auto lines = lines_of(true);
    if (lines.size() > most_lines) {
        lines = lines_of(false);
    }
    std::string text;
    for (const auto& [check, advice, subjects] : lines) {
        text +=
            fmt::format("{} {}: {}\n", printable(list_names(subjects)), printable(check), printable(advice));
    }
    return text;
}

std::string_view shown(CheckRow::State state) {
    return state == CheckRow::State::fail ? "FAIL" : to_string(state);
}

nlohmann::json or_null(const std::optional<double>& number) {
    return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json gpus_json(const CheckReport& report) {
    auto json = nlohmann::json::array();
    for (const auto& node : report.gpus) {
        for (const auto& gpu : node.gpus) {
            json.push_back({{"node", node.node.str()},
                            {"index", gpu.index},
                            {"uuid", gpu.uuid},
                            {"name", gpu.name},
                            {"memory_used_mib", or_null(gpu.memory_used_mib)},
                            {"memory_total_mib", or_null(gpu.memory_total_mib)},
                            {"utilization_percent", or_null(gpu.utilization_percent)},
                            {"temperature_c", or_null(gpu.temperature_c)},
                            {"power_w", or_null(gpu.power_w)},
                            {"driver", gpu.driver},
                            {"cuda", node.cuda}});
        }
    }
    return json;
}

} // namespace

std::string report_text(const CheckReport& report, std::size_t most_rows, const OutputTraits& output) {
    Table rows({{.paint = state_style},
                {.title = "WHERE", .fold = Fold::names, .narrow = Narrow::middle, .most = widest_where},
                {.title = "CHECK"},
                {.title = "FOUND", .fold = Fold::any, .narrow = Narrow::wrap, .least = 28}});
    for (const auto& row : report.rows) {
        rows.add_row({std::string(shown(row.state)), row.subject, row.check, row.text});
    }
    auto text = rows.to_text(std::max(most_rows, most_findings), output);
    if (const auto gpus = gpu_table(report); !gpus.empty()) {
        text += "\n" + table_text(gpus, most_rows, output);
    }
    if (const auto bandwidth = bandwidth_matrix(report); !bandwidth.empty()) {
        // The round trips stand in a row; the matrix is for those who look for a slow way.
        text += matrix_text(bandwidth, output) + matrix_text(latency_matrix(report), output);
    }
    text += matrix_text(pair_matrix(report), output);
    if (const auto collectives = collective_table(report); !collectives.empty()) {
        text += laid_out("\nNCCL bus bandwidth at the largest size, GB/s\n", output) +
                table_text(collectives, everything, output);
    }
    const auto todo = what_to_do(report, std::max(most_rows, most_findings));
    return todo.empty() ? text : text + "\nWhat to do:\n" + laid_out(todo, output);
}

nlohmann::json report_json(const CheckReport& report, const std::string& cluster) {
    nlohmann::json json{{"cluster", cluster},
                        {"passed", report.passed()},
                        {"rows", nlohmann::json::array()},
                        {"gpus", gpus_json(report)},
                        {"links", nlohmann::json::array()},
                        {"collectives", nlohmann::json::array()}};
    const auto name = [&](std::size_t place) {
        return place < report.nodes.size() ? report.nodes[place].str() : "";
    };
    for (const auto& row : report.rows) {
        json["rows"].push_back({{"state", to_string(row.state)},
                                {"layer", to_string(row.layer)},
                                {"subject", row.subject},
                                {"check", row.check},
                                {"text", row.text},
                                {"hint", row.hint}});
    }
    for (const auto& link : report.links) {
        json["links"].push_back({{"from", name(link.from)},
                                 {"to", name(link.to)},
                                 {"round_trip_us", or_null(link.latency_us)},
                                 {"bytes_per_second", or_null(link.bandwidth)},
                                 {"slow", link.slow}});
    }
    for (const auto& measurement : report.collectives) {
        auto nodes = nlohmann::json::array();
        for (const auto place : measurement.nodes) {
            nodes.push_back(name(place));
        }
        json["collectives"].push_back({{"nodes", std::move(nodes)},
                                       {"ranks", measurement.ranks},
                                       {"operation", measurement.operation},
                                       {"data_type", measurement.data_type},
                                       {"bytes", measurement.bytes},
                                       {"time_us", measurement.time_us},
                                       {"algorithm_gbps", measurement.algorithm_bandwidth},
                                       {"bus_gbps", measurement.bus_bandwidth},
                                       {"kind", measurement.copy ? "copy" : "collective"},
                                       {"wrong", measurement.wrong}});
    }
    return json;
}

} // namespace dockdist

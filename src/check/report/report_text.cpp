#include "check/report/report_text.hpp"

#include "check/report/report_tables.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

constexpr std::size_t widest_matrix = 12; // nodes

std::string table_text(const CellTable& cells) {
    Table table(cells.columns);
    for (const auto& row : cells.rows) {
        table.add_row(row);
    }
    return table.to_text();
}

std::string matrix_text(const Matrix& matrix) {
    if (matrix.empty()) {
        return "";
    }
    if (matrix.names.size() > widest_matrix) {
        return fmt::format("\n{} of {} nodes: see --report FILE.html or -o json\n", matrix.title,
                           matrix.names.size());
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
    return fmt::format("\n{}, {}{}\n{}", matrix.title, matrix.unit,
                       slow ? " (!: slow beside the others)" : "", table.to_text());
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

std::string report_text(const CheckReport& report) {
    Table rows({{""}, {"WHERE"}, {"CHECK"}, {"FOUND"}});
    for (const auto& row : report.rows) {
        rows.add_row({std::string(shown(row.state)), row.subject, row.check, row.text});
    }
    auto text = rows.to_text();
    if (const auto gpus = gpu_table(report); !gpus.empty()) {
        text += "\n" + table_text(gpus);
    }
    if (const auto bandwidth = bandwidth_matrix(report); !bandwidth.empty()) {
        // The round trips stand in a row; the matrix is for those who look for a slow way.
        text += matrix_text(bandwidth) + matrix_text(latency_matrix(report));
    }
    text += matrix_text(pair_matrix(report));
    if (const auto collectives = collective_table(report); !collectives.empty()) {
        text += "\nNCCL bus bandwidth at the largest size, GB/s\n" + table_text(collectives);
    }
    std::string todo;
    for (const auto& row : report.rows) {
        if (!row.hint.empty()) {
            todo +=
                fmt::format("{} {}: {}\n", printable(row.subject), printable(row.check), printable(row.hint));
        }
    }
    return todo.empty() ? text : text + "\nWhat to do:\n" + todo;
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

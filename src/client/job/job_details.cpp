#include "client/job/job_details.hpp"

#include "client/job/job_cells.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/usage/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace dockdist {
namespace {

using wire::Figure;

constexpr std::int64_t told_waiting_ms = 1000;

std::string state_text(const JobReport& job) {
    auto text = std::string(to_string(job.state));
    if (!job.reason.empty() && job.reason != "stop") {
        text += ": " + job.reason;
    }
    if (job.exit_code) {
        text += fmt::format(", exit code {}", *job.exit_code);
    }
    return text;
}

std::string gpus_text_of(const JobReport& job, const UsageSum& usage) {
    if (usage.gpus == 0) {
        return "";
    }
    const auto which = units_cell(job);
    return fmt::format("{}{}, {} GPU hours", usage.gpus, which == "-" ? "" : " (" + which + ")",
                       hours_text(usage.gpu_hours));
}

// "node-1, GPU 3".
std::string place_text(const FigureSum& sum) {
    return sum.peak_node.str() + (sum.peak_gpu < 0 ? "" : fmt::format(", GPU {}", sum.peak_gpu));
}

// What of a node is in its row.
struct NodeFigure {
    const char* title;
    Figure figure;
    enum class Of { mean, peak, total } of;
};
constexpr std::array<NodeFigure, 9> node_figures{{
    {"GPU LOAD", Figure::gpu_utilization, NodeFigure::Of::mean},
    {"GPU MEMORY", Figure::gpu_memory, NodeFigure::Of::peak},
    {"POWER", Figure::gpu_power, NodeFigure::Of::mean},
    {"CPU", Figure::cpu, NodeFigure::Of::mean},
    {"MEMORY", Figure::memory, NodeFigure::Of::peak},
    {"NET IN", Figure::network_received, NodeFigure::Of::total},
    {"NET OUT", Figure::network_sent, NodeFigure::Of::total},
    {"RDMA IN", Figure::rdma_received, NodeFigure::Of::total},
    {"RDMA OUT", Figure::rdma_sent, NodeFigure::Of::total},
}};

std::string node_cell(const UsageSum& usage, const NodeFigure& column) {
    const auto* sum = usage.find(column.figure);
    return sum == nullptr                       ? "-"
           : column.of == NodeFigure::Of::total ? total_text(*sum)
           : column.of == NodeFigure::Of::peak  ? figure_text(column.figure, sum->peak)
                                                : figure_text(column.figure, sum->mean);
}

} // namespace

std::vector<std::pair<std::string, std::string>> job_facts(const JobReport& job) {
    const auto usage = sum_usage(job.usage);
    std::vector<std::string> nodes;
    for (const auto& node : job.nodes) {
        nodes.push_back(node.str());
    }
    std::vector<std::pair<std::string, std::string>> facts{
        {"state", state_text(job)},
        {"command", shell_join(job.command)},
        {"owner", job.owner},
        {"nodes", fmt::format("{} ({})", nodes.size(), nodes_cell(nodes))},
        {"GPUs", gpus_text_of(job, usage)},
        {"waited", job.waited_ms.value_or(0) < told_waiting_ms
                       ? ""
                       : format_duration(std::chrono::milliseconds(*job.waited_ms))},
        {"since", local_time(job.started_ms)},
        {"for", job.duration_ms == 0 ? "" : format_duration(std::chrono::milliseconds(job.duration_ms))},
        {"address", job.ready_at},
        {"hang", job.hang ? job.hang->text + (job.hang->hint.empty() ? "" : "; " + job.hang->hint) : ""},
        {"first failure", job.first_failure ? located_text(*job.first_failure) : ""},
    };
    std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
    return facts;
}

CellTable usage_table(const UsageSum& usage) {
    CellTable table{.columns = {{.title = "USED"},
                                {.title = "MEAN", .align = Align::right},
                                {.title = "PEAK", .align = Align::right},
                                {.title = "PEAK ON", .narrow = Narrow::middle, .give_up = 1},
                                {.title = "TOTAL", .align = Align::right, .give_up = 2}}};
    for (const auto& sum : usage.figures) {
        if (sum.peak <= 0 && sum.figure >= Figure::rdma_received) {
            continue; // there are ports and disks, and nothing went over them
        }
        table.rows.push_back({figure_title(sum.figure), figure_text(sum.figure, sum.mean),
                              figure_text(sum.figure, sum.peak), place_text(sum), total_text(sum)});
    }
    return table;
}

CellTable node_usage_table(const std::vector<NodeUsage>& nodes) {
    CellTable table;
    if (nodes.size() < 2) {
        return table;
    }
    const auto all = sum_usage(nodes);
    std::vector<const NodeFigure*> columns;
    table.columns.push_back({.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle});
    for (const auto& column : node_figures) {
        const auto* sum = all.find(column.figure);
        if (sum != nullptr && (column.of != NodeFigure::Of::total || sum->peak > 0)) {
            columns.push_back(&column);
            table.columns.push_back({.title = column.title,
                                     .align = Align::right,
                                     .fold = Fold::any,
                                     .give_up = static_cast<int>(node_figures.size() - columns.size())});
        }
    }
    if (columns.empty()) { // nothing was measured, which is said elsewhere
        return {};
    }
    for (const auto& node : nodes) {
        const auto usage = sum_usage({node});
        std::vector<std::string> row{node.node.str() + (node.spare ? " (spare)" : "")};
        for (const auto* column : columns) {
            row.push_back(node_cell(usage, *column));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::string job_details_text(const JobReport& job, const OutputTraits& output, std::size_t most_rows) {
    auto text = job.job.str() + "\n";
    const auto facts = job_facts(job);
    Table known({{.title = ""}, {.title = "", .narrow = Narrow::wrap, .least = 20}});
    for (const auto& [title, fact] : facts) {
        known.add_row({title, fact});
    }
    text += known.to_text(facts.size(), output);
    if (job.first_failure) {
        const auto& advice = job.first_failure->advice;
        const auto last = last_lines_text(*job.first_failure, job.job, {});
        text += advice.empty() ? "" : "\n" + laid_out("→ " + printable(advice) + "\n", output);
        text += last.empty() ? "" : "\n" + laid_out(last + "\n", output);
    }
    if (const auto used = usage_table(sum_usage(job.usage)); !used.empty()) {
        text += "\n" + table_text(used, used.rows.size(), output);
    } else {
        text += laid_out(job.state == JobState::running
                             ? "\nnothing has been measured yet\n"
                             : "\nnothing was measured: it was too short, or its nodes keep no record\n",
                         output);
    }
    if (const auto nodes = node_usage_table(job.usage); !nodes.empty()) {
        text += "\n" + table_text(nodes, most_rows, output);
    }
    const auto* separator = "\n";
    for (const auto& finding : findings(job.usage, {})) {
        const auto line = "! " + safe_cell(finding) + "\n";
        text += std::exchange(separator, "");
        text += wrap_words(output.ascii_only() ? ascii_signs(line) : line, output.columns, 2);
    }
    if (job.state != JobState::running && job.state != JobState::done && job.outcomes.size() > 1) {
        text += "\n" + results_text(job.outcomes, output);
    }
    return text;
}

} // namespace dockdist

#include "job/job_report.hpp"

#include "core/host_list.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "gpu/units.hpp"
#include "job/gpu_text.hpp"
#include "job_state/job_text.hpp"
#include "report/display_text.hpp"
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t command_columns = 48;
constexpr std::size_t gpus_columns = 16;
constexpr std::size_t owner_columns = 24;
constexpr std::size_t node_columns = 40;
constexpr std::size_t most_node_names = 4; // one by one

std::string nodes_cell(const std::vector<std::string>& nodes) {
    return nodes.size() > most_node_names ? short_host_list(nodes, node_columns)
                                          : fmt::format("{}", fmt::join(nodes, ","));
}

std::string local_time(std::int64_t unix_ms) {
    const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// What a node did, in words, and how it is sorted: failures first, then the lost.
std::pair<int, std::string> result_words(const NodeOutcome& node) {
    if (!node.result) {
        return {1, "lost: nothing is known of its end"};
    }
    const auto& result = *node.result;
    if (!result.failures.empty()) {
        const auto more = result.failures.size() - 1;
        return {
            0, failure_text(result.failures.front()) +
                   (more == 0 ? "" : fmt::format(", and {} more rank{} failed", more, more == 1 ? "" : "s"))};
    }
    if (result.stopped) {
        return {3, result.reason == "timeout" ? "ended because its time was over"
                   : result.reason == "lease" ? "ended because nobody held the job any more"
                                              : "ended as it was told"};
    }
    if (result.code != 0) {
        return {0, failure_text({.code = result.code, .signal = result.signal})};
    }
    return {4, "done"};
}

} // namespace

std::string results_text(const std::vector<NodeOutcome>& nodes, bool unicode) {
    std::map<std::pair<int, std::string>, std::vector<std::string>> rows; // words → nodes
    for (const auto& node : nodes) {
        rows[result_words(node)].push_back(node.node.str());
    }
    Table table({{"NODES"}, {"WHICH"}, {"RESULT"}});
    for (const auto& [words, which] : rows) {
        table.add_row(
            {std::to_string(which.size()), clipped(nodes_cell(which), node_columns, unicode), words.second});
    }
    return table.to_text();
}

JobReport report_of(const KnownJob& job) {
    JobReport report{.job = job.job};
    std::vector<NodeOutcome> nodes;
    bool running = false;
    const auto left_out = left_out_of(job);
    for (const auto& part : job.parts) {
        const auto& summary = part.summary;
        report.nodes.push_back(part.node.name);
        report.started_ms =
            report.started_ms == 0 ? summary.started_ms : std::min(report.started_ms, summary.started_ms);
        report.duration_ms = std::max(report.duration_ms, summary.duration_ms);
        if (report.command.empty()) {
            report.command = summary.argv;
        }
        if (report.owner.empty()) {
            report.owner = summary.owner;
        }
        report.serves = report.serves || !summary.policy.ready.empty();
        if (summary.running && !summary.ready.empty()) {
            report.ready_at = summary.ready;
        }
        if (summary.running && !summary.units.empty() && !is_slot(summary.units.front())) {
            report.units.emplace_back(part.node.name, summary.units);
        }
        nodes.push_back({.node = part.node.name, .left_out = left_out.contains(part.node.name.str())});
        if (nodes.back().left_out) {
            continue;
        }
        if (!summary.running) {
            nodes.back().result = summary.result;
        }
        running = running || summary.running;
    }
    const auto outcome = outcome_of(std::move(nodes), {});
    report.first_failure = outcome.first_failure;
    if (running) {
        return report;
    }
    report.exit_code = outcome.code;
    report.reason = outcome.stop_reason;
    report.state = state_of(outcome);
    return report;
}

namespace {

// Indices: "0-3" where they are the same on all nodes, else "0,1/4" in the order of the nodes.
std::string units_cell(const JobReport& job) {
    std::vector<std::string> nodes;
    for (const auto& [node, units] : job.units) {
        std::vector<int> numbers;
        for (const auto& unit : units) {
            numbers.push_back(unit.index);
        }
        nodes.push_back(ranges_text(std::move(numbers)));
    }
    if (nodes.empty()) {
        return "-";
    }
    return std::ranges::adjacent_find(nodes, std::not_equal_to()) == nodes.end()
               ? nodes.front()
               : fmt::format("{}", fmt::join(nodes, "/"));
}

std::string address_cell(const JobReport& job) {
    return !job.ready_at.empty()                          ? safe_cell(job.ready_at)
           : job.serves && job.state == JobState::running ? "not ready"
                                                          : "-";
}

} // namespace

std::string jobs_text(const std::vector<JobReport>& jobs, bool unicode) {
    // What none of the jobs has is no column.
    const bool some_serve = std::ranges::any_of(jobs, &JobReport::serves);
    std::vector<Column> columns{{"JOB"},
                                {"STATE"},
                                {"NODES"},
                                {"GPUS"},
                                {"OWNER"},
                                {"SINCE"},
                                {"FOR", Align::right},
                                {"EXIT", Align::right}};
    if (some_serve) {
        columns.push_back({"ADDRESS"});
    }
    columns.insert(columns.end(), {{"FIRST FAILURE"}, {"COMMAND"}});
    Table table(std::move(columns));
    for (const auto& job : jobs) {
        std::vector<std::string> nodes;
        std::ranges::transform(job.nodes, std::back_inserter(nodes), &NodeName::str);
        const auto& first = job.first_failure;
        std::vector<std::string> cells{
            job.job.str(),
            std::string(to_string(job.state)) +
                (job.reason.empty() || job.reason == "stop" ? "" : ": " + job.reason),
            nodes_cell(nodes),
            clipped(units_cell(job), gpus_columns, unicode),
            job.owner.empty() ? "-" : clipped(safe_cell(job.owner), owner_columns, unicode),
            local_time(job.started_ms),
            job.duration_ms == 0 ? "-" : format_duration(std::chrono::milliseconds(job.duration_ms)),
            job.exit_code ? std::to_string(*job.exit_code) : "-"};
        if (some_serve) {
            cells.push_back(address_cell(job));
        }
        cells.push_back(first ? located_text(*first) : "-");
        cells.push_back(clipped(safe_cell(shell_join(job.command)), command_columns, unicode));
        table.add_row(std::move(cells));
    }
    return table.to_text();
}

} // namespace dockdist

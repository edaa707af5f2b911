#include "client/job/job_report.hpp"

#include "client/job/gpu_text.hpp"
#include "client/job/job_cells.hpp"
#include "client/report/display_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"
#include "shared/job_state/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t command_columns = 48;
constexpr std::size_t gpus_columns = 16;
constexpr std::size_t owner_columns = 24;
constexpr auto no_limit = std::numeric_limits<std::size_t>::max(); // of rows

// What a node did, in words, and how it is sorted: failures first, then the lost.
std::pair<int, std::string> result_words(const NodeOutcome& node) {
    if (!node.result) {
        return {1, "lost: nothing is known of its end"};
    }
    const auto& result = *node.result;
    if (!result.failures.empty()) {
        const auto more = result.failures.size() - 1;
        return {0, failure_text(result.failures.front()) +
                       (more == 0 ? "" : fmt::format(", and {} failed", counted(more, "more rank")))};
    }
    if (result.stopped) {
        return {3, result.reason == "timeout" ? "timed out and was stopped"
                   : result.reason == "lease" ? "stopped because no client held its lease any more"
                                              : "stopped on request"};
    }
    if (result.code != 0) {
        return {0, failure_text({.code = result.code, .signal = result.signal})};
    }
    return {4, "done"};
}

// What the job, as its latest attempt has it, holds in reserve.
std::set<std::string> spares_of(const KnownJob& job) {
    std::set<std::string> spares;
    if (job.parts.empty()) {
        return spares;
    }
    const auto& policy = latest_of(job).policy;
    for (std::size_t i = 0; i < policy.parts.size() && !policy.members.empty(); ++i) {
        const auto& part = policy.parts[i];
        if (!part.lost && std::ranges::find(policy.members, static_cast<int>(i)) == policy.members.end()) {
            spares.insert(part.node);
        }
    }
    return spares;
}

PartTime time_of(const KnownPart& part) {
    const auto& summary = part.summary;
    const auto& usage = summary.result.usage;
    const bool measured = usage.duration_ms > 0;
    const auto own = std::ranges::count_if(summary.units, [](const auto& unit) { return !is_slot(unit); });
    return {.node = part.node.name,
            .gpus = measured ? usage.gpus : static_cast<int>(own),
            .begin_ms = std::max<std::int64_t>(summary.started_ms - summary.before.held_ms, 0),
            .end_ms = summary.started_ms + std::max(summary.duration_ms, usage.duration_ms),
            .open_end = summary.duration_ms == 0};
}

} // namespace

std::string results_text(const std::vector<NodeOutcome>& nodes, const OutputTraits& output) {
    std::map<std::pair<int, std::string>, std::vector<std::string>> rows; // words → nodes
    for (const auto& node : nodes) {
        rows[result_words(node)].push_back(node.node.str());
    }
    Table table({{"NODES"},
                 {.title = "WHICH", .narrow = Narrow::middle, .most = node_columns},
                 {.title = "RESULT", .narrow = Narrow::wrap, .least = 24}});
    for (const auto& [words, which] : rows) {
        table.add_row({std::to_string(which.size()), nodes_cell(which), words.second});
    }
    return table.to_text(no_limit, output);
}

JobReport report_of(const KnownJob& job) {
    JobReport report{.job = job.job};
    std::vector<NodeOutcome> nodes;
    bool running = false;
    const auto left_out = left_out_of(job);
    const auto spares = spares_of(job);
    for (const auto& part : job.parts) {
        const auto& summary = part.summary;
        report.nodes.push_back(part.node.name);
        report.started_ms =
            report.started_ms == 0 ? summary.started_ms : std::min(report.started_ms, summary.started_ms);
        report.duration_ms = std::max(report.duration_ms, summary.duration_ms);
        if (report.command.empty()) {
            report.command = summary.argv;
        }
        report.times.push_back(time_of(part));
        if (summary.result.usage.duration_ms > 0) {
            report.times.back().usage = report.usage.size();
            report.usage.push_back({.node = part.node.name,
                                    .usage = summary.result.usage,
                                    .spare = spares.contains(part.node.name.str())});
        }
        if (report.owner.empty()) {
            report.owner = summary.owner;
        }
        if (summary.before.waited_ms) {
            report.waited_ms = std::max(report.waited_ms.value_or(0), *summary.before.waited_ms);
        }
        if (summary.hang && (!report.hang || summary.hang->attempt >= report.hang->attempt)) {
            report.hang = summary.hang;
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
    report.outcomes = outcome.nodes;
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

std::string address_cell(const JobReport& job) {
    return !job.ready_at.empty()                          ? safe_cell(job.ready_at)
           : job.serves && job.state == JobState::running ? "not ready"
                                                          : "-";
}

} // namespace

CellTable jobs_table(const std::vector<JobReport>& jobs) {
    // What none of the jobs has is no column.
    const bool some_serve = std::ranges::any_of(jobs, &JobReport::serves);
    const bool some_failed =
        std::ranges::any_of(jobs, [](const JobReport& job) { return job.first_failure.has_value(); });
    CellTable table;
    auto& columns = table.columns;
    columns = {{.title = "JOB", .narrow = Narrow::middle, .least = 12},
               {.title = "STATE", .paint = state_style},
               {.title = "NODES", .narrow = Narrow::end, .give_up = 4, .least = 13},
               {.title = "GPUS", .narrow = Narrow::end, .give_up = 2, .least = 4, .most = gpus_columns},
               {.title = "OWNER", .narrow = Narrow::end, .give_up = 1, .least = 9, .most = owner_columns},
               {.title = "SINCE", .give_up = 3},
               {.title = "FOR", .align = Align::right, .give_up = 5},
               {.title = "EXIT", .align = Align::right, .give_up = 9}};
    if (some_serve) {
        columns.push_back({.title = "ADDRESS", .give_up = 6});
    }
    if (some_failed) {
        columns.push_back({.title = "FIRST FAILURE", .narrow = Narrow::end, .give_up = 7, .least = 26});
    }
    columns.push_back(
        {.title = "COMMAND", .narrow = Narrow::end, .give_up = 8, .least = 12, .most = command_columns});
    for (const auto& job : jobs) {
        std::vector<std::string> nodes;
        std::ranges::transform(job.nodes, std::back_inserter(nodes), &NodeName::str);
        const auto& first = job.first_failure;
        std::vector<std::string> cells{
            job.job.str(),
            std::string(to_string(job.state)) +
                (job.reason.empty() || job.reason == "stop" ? "" : ": " + job.reason),
            nodes_cell(nodes),
            units_cell(job),
            job.owner.empty() ? "-" : job.owner,
            local_time(job.started_ms),
            job.duration_ms == 0 ? "-" : format_duration(std::chrono::milliseconds(job.duration_ms)),
            job.exit_code ? std::to_string(*job.exit_code) : "-"};
        if (some_serve) {
            cells.push_back(address_cell(job));
        }
        if (some_failed) {
            cells.push_back(first ? located_text(*first) : "-");
        }
        cells.push_back(shell_join(job.command));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

std::string jobs_text(const std::vector<JobReport>& jobs, const OutputTraits& output) {
    return table_text(jobs_table(jobs), no_limit, output);
}

} // namespace dockdist

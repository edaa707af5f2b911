#include "job/job_report.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/display_text.hpp"
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t command_columns = 48;

// Supports are told to end in every job.
bool was_stopped(const wire::JobResult& result) {
    return result.stopped && result.reason != "over";
}

bool was_told(const wire::JobResult& result, std::string_view reason) {
    return result.stopped && result.reason == reason;
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

// "node-1 rank 3: signal 11 (Segmentation fault)".
std::string short_words(const JobFailure& first) {
    const auto& failure = first.failure;
    if (!failure.finding.empty()) {
        return failure.finding;
    }
    const auto who = failure.rank < 0 ? first.node : fmt::format("{} rank {}", first.node, failure.rank);
    if (failure.oom) {
        return who + ": out of memory";
    }
    return who + (failure.signal != 0
                      ? fmt::format(": signal {} ({})", failure.signal, strsignal(failure.signal))
                      : fmt::format(": exit code {}", failure.code));
}

// A job that was told to end is one of which some part ended badly over it, or every part ended.
std::string stop_reason(const std::vector<NodeOutcome>& nodes) {
    std::string reason;
    bool all = true;
    bool badly = false;
    for (const auto& node : nodes) {
        if (node.left_out) {
            continue;
        }
        if (!node.result || !was_stopped(*node.result)) {
            all = false;
            continue;
        }
        badly = badly || node.result->code != 0 || node.result->reason != "stop";
        if (reason.empty() || node.result->reason != "stop") {
            reason = node.result->reason;
        }
    }
    return all || badly ? reason : "";
}

} // namespace

std::optional<JobFailure> first_failure(const std::vector<NodeOutcome>& nodes) {
    for (const auto& node : nodes) {
        if (node.result && !node.result->first_node.empty()) {
            return JobFailure{node.result->first_node, node.result->first};
        }
    }
    std::optional<JobFailure> first;
    for (const auto& node : nodes) {
        if (!node.result) {
            continue;
        }
        const auto& result = *node.result;
        JobFailure failure{.node = node.node.str()};
        if (!result.failures.empty()) {
            failure.failure = result.failures.front();
        } else if (result.code != 0 && !result.stopped) {
            failure.failure = {.code = result.code, .signal = result.signal};
        } else {
            continue;
        }
        if (!first || explains(failure.failure, first->failure)) {
            first = std::move(failure);
        }
    }
    return first;
}

// What a node does, or says, that the job goes on without is of no weight.
void forget_left_out(std::vector<NodeOutcome>& nodes, Errors& errors) {
    std::set<std::string> names;
    for (const auto& node : nodes) {
        if (node.left_out) {
            names.insert(node.node.str());
        }
        if (node.result) {
            names.insert(node.result->left_out.begin(), node.result->left_out.end());
        }
    }
    for (auto& node : nodes) {
        if (names.contains(node.node.str())) {
            node.left_out = true;
            node.result.reset();
        }
    }
    std::erase_if(errors, [&](const Error& error) { return names.contains(error.where); });
}

JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors) {
    forget_left_out(nodes, errors);
    JobOutcome outcome{.nodes = std::move(nodes), .errors = std::move(errors)};
    outcome.first_failure = first_failure(outcome.nodes);
    outcome.stop_reason = outcome.first_failure ? "" : stop_reason(outcome.nodes);
    if (outcome.first_failure) {
        outcome.exit_code = outcome.first_failure->failure.code;
    } else if (std::ranges::any_of(outcome.nodes, [](const NodeOutcome& node) {
                   return node.result && was_told(*node.result, "timeout");
               })) {
        outcome.exit_code = exit_codes::timed_out;
        outcome.stop_reason = "timeout";
    } else {
        for (const auto& node : outcome.nodes) {
            if (outcome.exit_code == 0 && node.result && node.result->reason != "over") {
                outcome.exit_code = node.result->code;
            }
        }
    }
    return outcome;
}

std::string failure_text(const wire::RankFailure& failure) {
    if (!failure.finding.empty()) {
        return failure.finding;
    }
    const auto who = failure.rank < 0 ? std::string("the command") : fmt::format("rank {}", failure.rank);
    if (failure.oom) {
        return who + " was killed because its memory limit was reached (out of memory)";
    }
    if (failure.signal != 0) {
        return who + fmt::format(" was ended by signal {} ({})", failure.signal, strsignal(failure.signal));
    }
    return who + fmt::format(" exited with {}", failure.code);
}

std::string results_text(const std::vector<NodeOutcome>& nodes, bool unicode) {
    constexpr std::size_t nodes_columns = 40;
    std::map<std::pair<int, std::string>, std::pair<int, std::string>>
        rows; // words → how many nodes, and which
    for (const auto& node : nodes) {
        auto& [count, names] = rows[result_words(node)];
        ++count;
        names += (names.empty() ? "" : ",") + node.node.str();
    }
    Table table({{"NODES"}, {"WHICH"}, {"RESULT"}});
    for (const auto& [words, which] : rows) {
        table.add_row(
            {std::to_string(which.first), clipped(which.second, nodes_columns, unicode), words.second});
    }
    return table.to_text();
}

std::string_view to_string(JobState state) {
    switch (state) {
    case JobState::running:
        return "running";
    case JobState::done:
        return "done";
    case JobState::failed:
        return "failed";
    case JobState::stopped:
        return "stopped";
    case JobState::lost:
        return "lost";
    }
    return "unknown";
}

JobReport report_of(const KnownJob& job) {
    JobReport report{.job = job.job};
    std::vector<NodeOutcome> nodes;
    bool running = false;
    bool lost = false;
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
        nodes.push_back({.node = part.node.name, .left_out = left_out.contains(part.node.name.str())});
        if (nodes.back().left_out) {
            continue;
        }
        if (!summary.running) {
            nodes.back().result = summary.result;
        }
        running = running || summary.running;
        lost = lost || (!summary.running && summary.result.reason == "lost");
    }
    const auto outcome = outcome_of(std::move(nodes), {});
    report.first_failure = outcome.first_failure;
    if (running) {
        return report;
    }
    report.exit_code = outcome.exit_code;
    report.reason = outcome.stop_reason;
    report.state = lost                           ? JobState::lost
                   : report.first_failure         ? JobState::failed
                   : !outcome.stop_reason.empty() ? JobState::stopped
                                                  : JobState::done;
    return report;
}

std::string jobs_text(const std::vector<JobReport>& jobs, bool unicode) {
    Table table({{"JOB"},
                 {"STATE"},
                 {"NODES"},
                 {"SINCE"},
                 {"FOR", Align::right},
                 {"EXIT", Align::right},
                 {"FIRST FAILURE"},
                 {"COMMAND"}});
    for (const auto& job : jobs) {
        std::string nodes;
        for (const auto& node : job.nodes) {
            nodes += (nodes.empty() ? "" : ",") + node.str();
        }
        const auto& first = job.first_failure;
        table.add_row(
            {job.job.str(),
             std::string(to_string(job.state)) +
                 (job.reason.empty() || job.reason == "stop" ? "" : ": " + job.reason),
             nodes, local_time(job.started_ms),
             job.duration_ms == 0 ? "-" : format_duration(std::chrono::milliseconds(job.duration_ms)),
             job.exit_code ? std::to_string(*job.exit_code) : "-", first ? short_words(*first) : "-",
             clipped(safe_cell(shell_join(job.command)), command_columns, unicode)});
    }
    return table.to_text();
}

} // namespace dockdist

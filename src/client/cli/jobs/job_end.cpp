#include "client/cli/jobs/job_end.hpp"

#include "client/job/job_report.hpp"
#include "client/report/output.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unistd.h>

namespace dockdist {
namespace {

std::vector<NodeUsage> usage_by_node(const JobOutcome& outcome) {
    std::vector<NodeUsage> usage;
    for (const auto& node : outcome.nodes) {
        if (node.result && node.result->usage.duration_ms > 0) {
            usage.push_back({.node = node.node, .usage = node.result->usage, .spare = node.spare});
        }
    }
    return usage;
}

// A job of some seconds leaves nothing worth a line.
void tell_usage(const Context& context, const JobOutcome& outcome, const JobId& job) {
    constexpr std::int64_t worth_a_line_ms = 10'000;
    const auto usage = sum_usage(usage_by_node(outcome));
    const auto line = usage_line(usage);
    if (outcome.detached || line.empty() || usage.duration_ms < worth_a_line_ms) {
        return;
    }
    context.reporter->on({.kind = Event::Kind::note,
                          .text = job.str() + ": " + line + " (`dockdist jobs " + job.str() + "` has more)"});
}

// "night: done in 12 s, exit code 0".
std::string last_line(const JobOutcome& outcome, const JobId& job, Ran ran) {
    const int code = outcome.exit_code();
    const auto [word, preposition] = outcome.interrupted || outcome.stop_reason == "stop"
                                         ? std::pair("stopped", "after")
                                     : outcome.first_failure || (code != 0 && outcome.stop_reason.empty())
                                         ? std::pair("failed", "after")
                                         : std::pair(outcome.stop_reason.empty() ? "done" : "ended",
                                                     outcome.stop_reason.empty() ? "in" : "after");
    return fmt::format("{}: {}{}, exit code {}", job.str(), word,
                       ran ? fmt::format(" {} {}", preposition, format_duration(*ran)) : "", code);
}

} // namespace

nlohmann::json end_json(const JobOutcome& outcome, const JobId& job, Ran ran) {
    nlohmann::json json{{"type", "result"},
                        {"job", job.str()},
                        {"exit_code", outcome.exit_code()},
                        {"interrupted", outcome.interrupted},
                        {"detached", outcome.detached},
                        {"attempts", outcome.attempts},
                        {"stop_reason", outcome.stop_reason},
                        {"nodes", nlohmann::json::array()}};
    if (ran) {
        json["duration_ms"] = ran->count();
    }
    if (!outcome.ready_at.empty()) {
        json["ready"] = outcome.ready_at;
    }
    if (const auto usage = sum_usage(usage_by_node(outcome)); usage.duration_ms > 0) {
        json["usage"] = usage_json(usage);
    }
    if (outcome.first_failure) {
        auto failure = *outcome.first_failure;
        number_rank(failure, failure.node, outcome.command_ranks);
        json["first_failure"] = failure;
    }
    for (const auto& node : outcome.nodes) {
        json["nodes"].push_back(
            {{"node", node.node.str()}, {"left_out", node.left_out}, {"spare", node.spare}});
        if (node.result) {
            auto result = *node.result;
            number_ranks(result, node.node.str(), outcome.command_ranks);
            json["nodes"].back()["result"] = result;
        }
    }
    return json;
}

int fail_before(const Context& context, const Errors& errors) {
    const int code = context.fail(errors);
    if (std::ranges::find(errors, ErrorKind::busy, &Error::kind) != errors.end()) {
        return exit_codes::gpus_taken;
    }
    return code == exit_codes::wrong_input ? code : exit_codes::own_failure;
}

int tell_end(const Context& context, const JobOutcome& outcome, const JobId& job, Ran ran) {
    if (outcome.detached) {
        const auto& name = job.str();
        context.reporter->on({.kind = Event::Kind::note,
                              .text = name + " goes on by itself: `dockdist attach " + name +
                                      "` shows it, `dockdist stop " + name + "` ends it"});
    }
    tell_usage(context, outcome, job);
    context.fail(end_errors(outcome, job));
    if (context.json()) { // the result is the last line
        context.print_json(end_json(outcome, job, ran));
    } else if (!outcome.detached) {
        const auto others = outcome.ended_well() ? std::vector<NodeOutcome>() : not_told_yet(outcome);
        if (!others.empty() && outcome.nodes.size() > 1) {
            FdSink().write(STDERR_FILENO,
                           Displayable::drawn(results_text(others, probe_output(STDERR_FILENO))));
        }
        context.reporter->on({.kind = Event::Kind::note, .text = last_line(outcome, job, ran)});
    }
    return outcome.exit_code();
}

} // namespace dockdist

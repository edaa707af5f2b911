#include "shared/job_state/job_end.hpp"

#include "shared/core/exit_codes.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/telling_lines.hpp"
#include "shared/core/text.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

// As the cluster itself holds it, or what a node has found behind that since.
std::optional<wire::JobFailure> held_failure(const std::vector<NodeOutcome>& nodes) {
    std::optional<wire::JobFailure> first;
    for (const auto& node : nodes) {
        first = !first && node.result ? node.result->first : first;
    }
    for (const auto& node : nodes) {
        if (!first || first->rank < 0 || !node.result || node.result->failures.empty()) {
            continue;
        }
        auto failure = first_of(node.result->failures);
        failure.node = node.node.str();
        first = explains(failure, *first) ? failure : first;
    }
    return first;
}

// Where no node holds it, the first in rank order.
std::optional<wire::JobFailure> first_failure(const std::vector<NodeOutcome>& nodes) {
    auto first = held_failure(nodes);
    if (first) {
        return first;
    }
    for (const auto& node : nodes) {
        if (!node.result) {
            continue;
        }
        const auto& result = *node.result;
        wire::JobFailure failure{.code = result.code, .signal = result.signal};
        if (!result.failures.empty()) {
            failure = first_of(result.failures);
        } else if (result.code == 0 || result.stopped) {
            continue;
        }
        failure.node = node.node.str();
        if (!first || explains(failure, *first)) {
            first = std::move(failure);
        }
    }
    return first;
}

// A job that was told to end is one of which some part ended badly over it, or every part ended. Parts that
// host the ranks of others are told to end in every job.
std::string stop_reason(const std::vector<NodeOutcome>& nodes) {
    std::string reason;
    bool all = true;
    bool badly = false;
    for (const auto& node : nodes) {
        if (node.left_out) {
            continue;
        }
        if (!node.result || !node.result->stopped || node.result->reason == "over") {
            all = false;
            continue;
        }
        if (node.result->reason == "timeout") {
            return "timeout";
        }
        badly = badly || node.result->code != 0 || node.result->reason != "stop";
        if (reason.empty() || node.result->reason != "stop") {
            reason = node.result->reason;
        }
    }
    return all || badly ? reason : "";
}

int code_of(const JobOutcome& outcome) {
    if (outcome.first_failure) {
        return outcome.first_failure->code;
    }
    if (outcome.stop_reason == "timeout") {
        return exit_codes::timed_out;
    }
    for (const auto& node : outcome.nodes) {
        if (node.result && node.result->reason != "over" && node.result->code != 0) {
            return node.result->code;
        }
    }
    return 0;
}

void forget_left_out(std::vector<NodeOutcome>& nodes, Errors& errors) {
    const auto names = left_out_of(nodes);
    for (auto& node : nodes) {
        if (names.contains(node.node.str())) {
            node.left_out = true;
            node.result.reset();
        }
    }
    std::erase_if(errors, [&](const Error& error) { return names.contains(error.where); });
}

// "; the same of 3 more ranks on node-0,node-1", "; the same on node-1".
std::string others_text(const JobOutcome& outcome, const wire::JobFailure& first) {
    std::size_t more = 0;
    std::vector<std::string> nodes;
    for (const auto& node : outcome.nodes) {
        const auto count = node.result
                               ? std::ranges::count_if(node.result->failures,
                                                       [&](const auto& one) { return alike(one, first); })
                               : 0;
        const auto others =
            static_cast<std::size_t>(count) - (count > 0 && node.node.str() == first.node ? 1U : 0U);
        more += others;
        if (others > 0) {
            nodes.push_back(node.node.str());
        }
    }
    constexpr std::size_t widest = 72;
    if (more == 0) {
        return "";
    }
    const auto ranks =
        first.rank < 0 ? "" : " of " + std::to_string(more) + (more == 1 ? " more rank" : " more ranks");
    return "; the same" + ranks + " on " + short_host_list(nodes, widest);
}

Error failure_error(const JobOutcome& outcome, const JobId& job) {
    const auto& failure = *outcome.first_failure;
    const auto advice = printable(failure.advice);
    const auto advice_lines =
        advice.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(advice, '\n')) + 1;
    constexpr Screenful screen;
    const Screenful room{.lines = screen.lines - std::min(advice_lines, screen.lines / 2),
                         .bytes = screen.bytes - std::min(advice.size(), screen.bytes / 2)};
    const auto lines = last_lines_text(failure, job, room);
    return {ErrorKind::job, failure.node,
            job.str() + ": " + failure_text(failure) + others_text(outcome, failure),
            advice + (advice.empty() || lines.empty() ? "" : "\n") + lines};
}

Error stop_error(const std::string& reason, const JobId& job) {
    if (reason == "timeout") {
        return {ErrorKind::job, "",
                job.str() + ": timed out (--timeout, or the allocation's time limit) and was stopped", ""};
    }
    if (reason == "lease") {
        return {ErrorKind::job, "", job.str() + ": it was stopped because no client held its lease any more",
                "`dockdist run --lease` says how long a job lives on without one"};
    }
    return {ErrorKind::job, "", job.str() + ": it was stopped", ""};
}

} // namespace

int JobOutcome::exit_code() const {
    const bool own = !errors.empty() || !collected;
    if (interrupted && !detached) {
        return exit_codes::interrupted;
    }
    if (detached || (!first_failure && stop_reason.empty())) {
        return own ? exit_codes::own_failure : detached ? 0 : code;
    }
    return code == 0 && !collected ? exit_codes::own_failure : code;
}

bool JobOutcome::ended_well() const {
    return !first_failure && stop_reason.empty() && errors.empty();
}

bool alike(const wire::JobFailure& one, const wire::JobFailure& other) {
    const auto what = [](const wire::JobFailure& failure) {
        return std::tie(failure.code, failure.signal, failure.oom, failure.cause, failure.finding);
    };
    return what(one) == what(other) && (one.rank < 0) == (other.rank < 0);
}

std::vector<NodeOutcome> not_told_yet(const JobOutcome& outcome) {
    auto nodes = outcome.nodes;
    std::erase_if(nodes, [&](const NodeOutcome& node) {
        const auto& first = outcome.first_failure;
        if (!node.result) {
            return false;
        }
        const auto& result = *node.result;
        if (!result.failures.empty()) {
            return first &&
                   std::ranges::all_of(result.failures, [&](const auto& one) { return alike(one, *first); });
        }
        return result.stopped ? first.has_value() || result.reason == outcome.stop_reason
                              : first && result.code != 0 && node.node.str() == first->node;
    });
    return nodes;
}

JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors) {
    forget_left_out(nodes, errors);
    JobOutcome outcome{.nodes = std::move(nodes), .errors = std::move(errors)};
    outcome.first_failure = first_failure(outcome.nodes);
    outcome.stop_reason = outcome.first_failure ? "" : stop_reason(outcome.nodes);
    outcome.code = code_of(outcome);
    if (!outcome.errors.empty() &&
        outcome.stop_reason == "stop") { // the parts that were left, over a lost one
        outcome.stop_reason.clear();
    }
    return outcome;
}

JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors, const JobStateMachine& decided,
                      bool detached) {
    auto outcome = outcome_of(std::move(nodes), std::move(errors));
    outcome.detached = detached;
    outcome.interrupted = decided.was_interrupted();
    outcome.ready_at = decided.ready_at();
    if (outcome.interrupted) { // what the nodes say is its doing
        outcome.first_failure = decided.first_failure();
        outcome.stop_reason.clear();
    } else if (decided.first_failure() || (!detached && outcome.ended_well())) {
        outcome.first_failure = final_failure(decided);
        outcome.stop_reason.clear();
    }
    outcome.code = code_of(outcome);
    return outcome;
}

void number_rank(wire::JobFailure& failure, const std::string& node,
                 const std::map<std::string, int>& ranks) {
    const auto own = ranks.find(node);
    if (own != ranks.end() && failure.rank < 0 && failure.finding.empty()) {
        failure.rank = own->second;
        failure.local_rank = 0;
    }
}

void number_ranks(wire::JobResult& result, const std::string& node, const std::map<std::string, int>& ranks) {
    if (const auto own = ranks.find(node); own != ranks.end() && result.ranks == 0) {
        result.ranks = 1;
        result.rank_numbers = {own->second};
    }
    for (auto& failure : result.failures) {
        number_rank(failure, node, ranks);
    }
    if (result.first) {
        number_rank(*result.first, result.first->node.empty() ? node : result.first->node, ranks);
    }
}

std::optional<wire::JobFailure> final_failure(const JobStateMachine& decided) {
    if (decided.first_failure()) {
        return decided.first_failure();
    }
    const auto& policy = decided.settings();
    const auto missing = decided.missing_ranks();
    if (missing == 0) {
        return decided.doubled_rank();
    }
    return wire::JobFailure{.node = policy.parts[wire::coordinator_part(policy)].node,
                            .code = exit_codes::own_failure,
                            .finding = missing_ranks_text(missing, decided.wanted_ranks())};
}

std::set<std::string> left_out_of(const std::vector<NodeOutcome>& nodes) {
    std::set<std::string> names;
    for (const auto& node : nodes) {
        if (node.left_out) {
            names.insert(node.node.str());
        }
        if (node.result) {
            names.insert(node.result->left_out.begin(), node.result->left_out.end());
        }
    }
    return names;
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

JobState state_of(const JobOutcome& outcome) {
    const bool lost = std::ranges::any_of(
        outcome.nodes, [](const NodeOutcome& node) { return node.result && node.result->reason == "lost"; });
    return lost                           ? JobState::lost
           : outcome.first_failure        ? JobState::failed
           : !outcome.stop_reason.empty() ? JobState::stopped
                                          : JobState::done;
}

Errors end_errors(const JobOutcome& outcome, const JobId& job) {
    Errors told;
    if (outcome.detached) {
        return outcome.errors;
    }
    if (outcome.first_failure) {
        told.push_back(failure_error(outcome, job));
    } else if (!outcome.stop_reason.empty()) {
        told.push_back(stop_error(outcome.stop_reason, job));
    }
    std::ranges::copy(outcome.errors, std::back_inserter(told));
    return told;
}

} // namespace dockdist

#include "cli/job_end.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "job/job_report.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

namespace dockdist {
namespace {

nlohmann::json to_json(const JobOutcome& outcome, const JobId& job) {
    nlohmann::json json{{"type", "result"},
                        {"job", job.str()},
                        {"exit_code", outcome.exit_code},
                        {"interrupted", outcome.interrupted},
                        {"detached", outcome.detached},
                        {"attempts", outcome.attempts},
                        {"stop_reason", outcome.stop_reason},
                        {"nodes", nlohmann::json::array()}};
    if (outcome.first_failure) {
        json["first_failure"] = to_json(*outcome.first_failure);
    }
    for (const auto& node : outcome.nodes) {
        json["nodes"].push_back(
            {{"node", node.node.str()}, {"left_out", node.left_out}, {"spare", node.spare}});
        if (node.result) {
            json["nodes"].back()["result"] = *node.result;
        }
    }
    return json;
}

Error failure_error(const JobFailure& failure, const JobId& job) {
    std::string tail;
    for (const auto& line : split(failure.failure.tail, '\n')) {
        if (!line.empty()) {
            tail += (tail.empty() ? "" : "\n") + printable(line);
        }
    }
    return {ErrorKind::job, failure.node, job.str() + ": " + failure_text(failure.failure),
            tail.empty() ? "" : "its last lines:\n" + tail};
}

Error stop_error(const std::string& reason, const JobId& job) {
    if (reason == "timeout") {
        return {ErrorKind::job, "", job.str() + ": its time was over, and it was ended (--timeout)", ""};
    }
    if (reason == "lease") {
        return {ErrorKind::job, "", job.str() + ": it was ended because no client held it any more",
                "`dockdist run --lease` says how long a job lives on without one"};
    }
    return {ErrorKind::job, "", job.str() + ": it was stopped", ""};
}

} // namespace

nlohmann::json to_json(const JobFailure& failure) {
    nlohmann::json json = failure.failure;
    json["node"] = failure.node;
    return json;
}

int fail_before(const Context& context, const Errors& errors) {
    const int code = context.fail(errors);
    return code == exit_codes::wrong_input ? code : exit_codes::own_failure;
}

int tell_end(const Context& context, const JobOutcome& outcome, const JobId& job) {
    if (outcome.detached) {
        const auto& name = job.str();
        context.reporter->on({.kind = Event::Kind::note,
                              .text = name + " goes on by itself: `dockdist attach " + name +
                                      "` shows it, `dockdist stop " + name + "` ends it"});
    } else if (outcome.first_failure) {
        context.fail(failure_error(*outcome.first_failure, job));
    } else if (!outcome.stop_reason.empty()) {
        context.fail(stop_error(outcome.stop_reason, job));
    }
    context.fail(outcome.errors);
    const bool ended_well = !outcome.first_failure && outcome.stop_reason.empty() && outcome.errors.empty();
    if (!context.json() && !outcome.detached && !ended_well && outcome.nodes.size() > 1) {
        FdSink().write(STDERR_FILENO, results_text(outcome.nodes, probe_output(STDERR_FILENO).unicode));
    }
    if (context.json()) { // the result is the last line
        context.print_json(to_json(outcome, job));
    }
    if (outcome.detached) {
        return outcome.errors.empty() ? 0 : exit_codes::own_failure;
    }
    if (outcome.interrupted) {
        return exit_codes::interrupted;
    }
    return ended_well || outcome.first_failure || !outcome.stop_reason.empty() ? outcome.exit_code
                                                                               : exit_codes::own_failure;
}

} // namespace dockdist

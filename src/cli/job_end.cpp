#include "cli/job_end.hpp"

#include "core/exit_codes.hpp"
#include "job/job_report.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unistd.h>

namespace dockdist {
namespace {

nlohmann::json to_json(const JobOutcome& outcome, const JobId& job) {
    nlohmann::json json{{"type", "result"},
                        {"job", job.str()},
                        {"exit_code", outcome.exit_code()},
                        {"interrupted", outcome.interrupted},
                        {"detached", outcome.detached},
                        {"attempts", outcome.attempts},
                        {"stop_reason", outcome.stop_reason},
                        {"nodes", nlohmann::json::array()}};
    if (!outcome.ready_at.empty()) {
        json["ready"] = outcome.ready_at;
    }
    if (outcome.first_failure) {
        json["first_failure"] = *outcome.first_failure;
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

} // namespace

int fail_before(const Context& context, const Errors& errors) {
    const int code = context.fail(errors);
    if (std::ranges::find(errors, ErrorKind::busy, &Error::kind) != errors.end()) {
        return exit_codes::gpus_taken;
    }
    return code == exit_codes::wrong_input ? code : exit_codes::own_failure;
}

int tell_end(const Context& context, const JobOutcome& outcome, const JobId& job) {
    if (outcome.detached) {
        const auto& name = job.str();
        context.reporter->on({.kind = Event::Kind::note,
                              .text = name + " goes on by itself: `dockdist attach " + name +
                                      "` shows it, `dockdist stop " + name + "` ends it"});
    }
    context.fail(end_errors(outcome, job));
    if (!context.json() && !outcome.detached && !outcome.ended_well() && outcome.nodes.size() > 1) {
        FdSink().write(STDERR_FILENO,
                       Displayable::text(results_text(outcome.nodes, probe_output(STDERR_FILENO).unicode)));
    }
    if (context.json()) { // the result is the last line
        context.print_json(to_json(outcome, job));
    }
    return outcome.exit_code();
}

} // namespace dockdist

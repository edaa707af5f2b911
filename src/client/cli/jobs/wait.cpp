#include "client/async/run_all.hpp"
#include "client/async/run_until_first.hpp"
#include "client/async/with_timeout.hpp"
#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/line/values.hpp"
#include "client/job/follow_job.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {
namespace {

struct WaitOptions {
    std::vector<std::string> jobs{};
    bool any = false;
    std::string timeout{};
};

class NoSink : public JobSink {
public:
    void output(const NodeName&, int, StdStream, std::string_view) override {}
    void flush() override {}
};

Task<Result<JobOutcome>> wait_for_end(const FoundJob& found) {
    NoSink sink;
    wire::JobQuery query;
    query.output = false;
    co_return co_await follow_job(found.cluster.engines, found.job, std::move(query), sink);
}

using Outcomes = std::vector<std::optional<Result<JobOutcome>>>; // of the jobs; with `any`, of some

Task<Result<Outcomes>> wait_for_ends(const std::vector<FoundJob>& found, bool any) {
    std::vector<Task<Result<JobOutcome>>> waits;
    for (const auto& one : found) {
        waits.push_back(wait_for_end(one));
    }
    if (any) {
        co_return co_await run_until_first(std::move(waits));
    }
    auto ends = co_await run_all(std::move(waits));
    co_return Outcomes(std::make_move_iterator(ends.begin()), std::make_move_iterator(ends.end()));
}

// The exit code of the job that has ended so.
int tell_outcome(Context& context, const FoundJob& found, Result<JobOutcome> outcome) {
    auto errors = found.errors;
    if (!outcome) {
        errors.push_back(outcome.error());
        return fail_before(context, errors);
    }
    forget_lost(errors, left_out_of(outcome->nodes), found); // also what was lost since
    std::ranges::move(errors, std::back_inserter(outcome->errors));
    context.fail(outcome->errors);
    return outcome->exit_code();
}

Task<int> run_wait(Context& context, WaitOptions options) {
    const auto limit = parse_duration(options.timeout).value_or(std::chrono::hours(24 * 365 * 10));
    std::vector<FoundJob> found;
    for (const auto& job : options.jobs) {
        found.push_back(co_await find_job(context, job));
        if (!found.back().found) {
            co_return fail_before(context, found.back().errors);
        }
    }
    auto outcomes =
        co_await with_timeout(wait_for_ends(found, options.any), limit, Error{.kind = ErrorKind::timeout});
    if (!outcomes) {
        co_return exit_codes::timed_out;
    }
    int code = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto& outcome = (*outcomes)[i];
        if (!outcome) {
            continue;
        }
        if (options.any && context.json() && *outcome) {
            context.print_json(end_json(**outcome, found[i].job.job));
        } else if (options.any && !context.json()) {
            context.tell(found[i].job.job.str() + "\n");
        }
        const int own = tell_outcome(context, found[i], std::move(*outcome));
        if (options.any) {
            co_return own;
        }
        code = code == 0 ? own : code;
    }
    co_return code;
}

} // namespace

void add_wait(CLI::App& app, Program& program) {
    auto options = std::make_shared<WaitOptions>();
    auto* command = describe(
        app.add_subcommand(
            "wait",
            "Wait silently until jobs have ended, and exit with their code. Does not hold their lease"),
        command_group::jobs,
        {"dockdist wait night && dockdist cp node-0:out .", "dockdist wait --any sweep-1 sweep-2"});
    command
        ->add_option(
            "JOB", options->jobs,
            "Names, as `run` and `jobs` show them; the exit code is that of the first of these that is not 0")
        ->required();
    command->add_flag("--any", options->any, "Until one of them has ended: its name, and its exit code");
    duration(command->add_option("--timeout", options->timeout, "Wait no longer than this: exit code 124"),
             std::chrono::milliseconds(0));
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_wait(context, *options); };
    });
}

} // namespace dockdist

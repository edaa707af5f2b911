#include "async/with_timeout.hpp"
#include "cli/jobs/find_job.hpp"
#include "cli/jobs/job_end.hpp"
#include "cli/line/values.hpp"
#include "core/exit_codes.hpp"
#include "core/units.hpp"
#include "job/follow_job.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {
namespace {

struct WaitOptions {
    std::string job{};
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

Task<int> run_wait(Context& context, WaitOptions options) {
    const auto limit = parse_duration(options.timeout).value_or(std::chrono::hours(24 * 365 * 10));
    const auto found = co_await find_job(context, options.job);
    if (!found.found) {
        co_return fail_before(context, found.errors);
    }
    auto outcome = co_await with_timeout(wait_for_end(found), limit, Error{.kind = ErrorKind::timeout});
    if (!outcome) {
        co_return exit_codes::timed_out;
    }
    auto errors = found.errors;
    forget_lost(errors, left_out_of(outcome->nodes), found); // also what was lost since
    std::ranges::move(errors, std::back_inserter(outcome->errors));
    context.fail(outcome->errors);
    co_return outcome->exit_code();
}

} // namespace

void add_wait(CLI::App& app, Program& program) {
    auto options = std::make_shared<WaitOptions>();
    auto* command = describe(
        app.add_subcommand(
            "wait", "Wait silently until a job has ended, and exit with its code. Does not hold its lease"),
        command_group::jobs, {"dockdist wait night && dockdist cp node-0:out ."});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it")->required();
    duration(command->add_option("--timeout", options->timeout, "Wait no longer than this: exit code 124"),
             std::chrono::milliseconds(0));
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_wait(context, *options); };
    });
}

} // namespace dockdist

#include "cli/jobs/find_job.hpp"
#include "cli/jobs/job_end.hpp"
#include "cli/jobs/job_view.hpp"
#include "cli/line/values.hpp"
#include "cli/until_interrupt.hpp"
#include "core/text.hpp"
#include "core/timestamp.hpp"
#include "core/units.hpp"
#include "job/follow_job.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>

namespace dockdist {
namespace {

struct LogsOptions {
    std::string job{};
    std::string node{};
    std::string since{};
    std::optional<int> rank{};
    std::optional<std::int64_t> tail{};
    bool follow = false;
    JobViewOptions view{};
};

// How long ago that was. Nodes count back from their own clocks, so that these need not agree with ours.
Result<std::int64_t> milliseconds_ago(const std::string& text) {
    if (const auto duration = parse_duration(text)) {
        return duration->count();
    }
    if (const auto moment = parse_timestamp(text)) {
        const auto ago = std::chrono::system_clock::now() - *moment;
        return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(ago).count(), 0);
    }
    return Error{ErrorKind::usage, "--since",
                 "`" + printable(text) + "` is neither a duration nor a point in time",
                 "write it like 10m, or like 2026-02-28T17:30:00Z or 2026-02-28T17:30:00+01:00"};
}

// `logs -f train.yaml`, where -f is what it is in other commands.
std::optional<Error> judge_file_as_job(const LogsOptions& options) {
    std::error_code ignored;
    const bool is_file = options.job.ends_with(".yaml") || options.job.ends_with(".yml");
    if (!options.follow || !is_file || !std::filesystem::exists(options.job, ignored)) {
        return std::nullopt;
    }
    return Error{ErrorKind::usage, "-f", "of `logs` it is --follow, and takes no file",
                 "the file stands before the command: dockdist -f " + shell_quote(options.job) + " logs"};
}

Task<int> run_logs(Context& context, LogsOptions options) {
    if (const auto error = judge_file_as_job(options)) {
        co_return context.fail(*error);
    }
    wire::JobQuery query;
    query.to_the_end = options.follow;
    query.rank = options.rank;
    query.tail = options.tail;
    if (!options.since.empty()) {
        const auto ago = milliseconds_ago(options.since);
        if (!ago) {
            co_return context.fail(ago.error());
        }
        query.since_ms = *ago;
    }
    auto found = co_await find_job(context, options.job, options.node);
    if (!found.found) {
        co_return found.unknown ? fail_before(context, found.errors) : context.fail(found.errors);
    }
    options.view.whole = true;
    auto view = JobView::create(context, options.view, found.job.job);
    if (!view) {
        co_return context.fail(view.error());
    }
    (*view)->number_commands(wire::command_ranks(latest_of(found.job).policy));
    auto outcome = co_await until_interrupt(
        context, follow_job(found.cluster.engines, found.job, std::move(query), **view));
    (*view)->finish();
    if (!outcome) {
        co_return 0; // Ctrl-C is how one leaves it
    }
    auto errors = std::move(found.errors);
    forget_lost(errors, left_out_of(outcome->nodes), found);
    std::ranges::move(outcome->errors, std::back_inserter(errors));
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_logs(CLI::App& app, Program& program) {
    auto options = std::make_shared<LogsOptions>();
    auto* command =
        describe(app.add_subcommand("logs", "Show a job's output again, or part of it"), command_group::jobs,
                 {"dockdist logs                 # of the latest job", "dockdist logs -f night",
                  "dockdist logs night --rank 3 --since 10m"});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it (default: the latest)");
    command
        ->add_option("--node", options->node,
                     "Only this node's part: its name or rank; or of some: node-[0-3], @rack2")
        ->type_name("NODES");
    number(command->add_option("--rank", options->rank, "Only this rank of the job"), 0);
    moment(command->add_option("--since", options->since,
                               "Only what was written since then: a duration back from now (10m) or a point "
                               "in time (2026-02-28T17:30:00Z)"));
    add_tail_option(*command, options->tail);
    command->add_flag("-f,--follow", options->follow, "Go on until the job ends");
    add_view_options(*command, options->view);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_logs(context, *options); };
    });
}

} // namespace dockdist

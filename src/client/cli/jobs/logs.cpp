#include "client/async/cleanup.hpp"
#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/jobs/job_view.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/job/follow_job.hpp"

#include <CLI/CLI.hpp>
#include <boost/system/system_error.hpp>

#include <optional>

namespace dockdist {
namespace {

struct LogsOptions {
    std::string job{};
    std::string node{};
    std::optional<int> rank{};
    PastOutput past{};
    bool follow = false;
    JobViewOptions view{};
};

// `left`: by Ctrl-C, which is how one leaves it.
Task<int> show_logs(Context& context, LogsOptions options, FoundJob& found, StoreReaders& readers,
                    bool& left) {
    wire::JobQuery query;
    query.to_the_end = options.follow;
    query.rank = options.rank;
    set_past(options.past, query);
    co_await find_kept_job(context, options.job, options.node, found, readers);
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
        left = true;
        co_return 0;
    }
    auto errors = std::move(found.errors);
    forget_lost(errors, left_out_of(outcome->nodes), found);
    std::ranges::move(outcome->errors, std::back_inserter(errors));
    co_return errors.empty() ? 0 : context.fail(errors);
}

Task<int> run_logs(Context& context, LogsOptions options) {
    FoundJob found;
    StoreReaders readers;
    bool left = false;
    try {
        co_return co_await with_cleanup(
            show_logs(context, std::move(options), found, readers, left),
            [&]() -> Task<void> { co_await readers.close(found.cluster.engines); });
    } catch (const boost::system::system_error&) {
        if (!left) {
            throw;
        }
    }
    co_return 0;
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
    add_past_options(*command, options->past);
    command->add_flag("-f,--follow", options->follow, "Follow the job until it ends");
    add_view_options(*command, options->view);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_logs(context, *options); };
    });
}

} // namespace dockdist

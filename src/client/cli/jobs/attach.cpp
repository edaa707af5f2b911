#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/jobs/job_view.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/job/job_report.hpp"
#include "client/job/run_job.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

struct AttachCommand {
    std::string job{};
    PastOutput past{};
    JobViewOptions view{};
    SyncAndCollectOptions carry{};
};

// Says what becomes of the job before the program is cancelled.
class LeaveOnInterrupt {
public:
    LeaveOnInterrupt(const Context& context, const JobId& job) : interrupts_(*context.interrupts) {
        previous_ = interrupts_.handle_with([this, &context, job] {
            context.reporter->on(
                {.kind = Event::Kind::note,
                 .text = fmt::format("{} goes on; `dockdist stop {}` stops it. Without any client "
                                     "it ends when its lease runs out, unless it was detached",
                                     job.str(), job.str())});
            previous_();
        });
    }
    LeaveOnInterrupt(const LeaveOnInterrupt&) = delete;
    LeaveOnInterrupt& operator=(const LeaveOnInterrupt&) = delete;
    ~LeaveOnInterrupt() { interrupts_.handle_with(std::move(previous_)); }

private:
    Interrupts& interrupts_;
    std::function<void()> previous_{};
};

Task<int> run_attach(Context& context, AttachCommand options) {
    wire::JobQuery query;
    set_past(options.past, query);
    auto found = co_await find_job(context, options.job);
    if (!found.found) {
        co_return fail_before(context, found.errors);
    }
    const auto& job = found.job.job;
    const bool was_running = report_of(found.job).state == JobState::running;
    auto view = JobView::create(context, options.view, job);
    if (!view) {
        co_return fail_before(context, {view.error()});
    }
    (*view)->number_commands(wire::command_ranks(latest_of(found.job).policy));
    context.reporter->on({.kind = Event::Kind::note,
                          .text = fmt::format("{}: attached (Ctrl-C detaches, `dockdist stop {}` stops it)",
                                              job.str(), job.str())});
    const LeaveOnInterrupt leave(context, job);
    auto outcome = co_await until_interrupt(
        context, attach_job(found.cluster.engines, found.job, std::move(query), **view, *context.reporter));
    (*view)->finish();
    if (!outcome) {
        co_return 0; // what becomes of the job is told
    }
    // Of a job that had ended before, the nodes may hold another one's results by now.
    outcome->collected =
        !was_running || co_await collect_after(context, found.cluster, *outcome, job, options.carry);
    forget_lost(found.errors, left_out_of(outcome->nodes), found);
    std::ranges::move(found.errors, std::back_inserter(outcome->errors));
    if (outcome->first_failure) {
        explain_left_out(found.cluster.spec, found.cluster.spec.container.workdir, *outcome->first_failure);
    }
    co_return tell_end(context, *outcome, job);
}

} // namespace

void add_attach(CLI::App& app, Program& program) {
    auto options = std::make_shared<AttachCommand>();
    auto* command =
        describe(app.add_subcommand(
                     "attach", "Follow a job as the client that started it would: output, exit code, lease"),
                 command_group::jobs,
                 {"dockdist attach", "dockdist attach night --tail 20", "dockdist attach night --since 10m"});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it (default: the latest)");
    add_past_options(*command, options->past);
    add_view_options(*command, options->view);
    add_no_collect(*command, options->carry);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_attach(context, *options); };
    });
}

} // namespace dockdist

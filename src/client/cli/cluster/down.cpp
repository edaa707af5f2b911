#include "client/cluster/down.hpp"

#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/own_ssh.hpp"
#include "client/toolkit/toolkit.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

Task<int> run_down(Context& context, DownOptions options) {
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    options.toolkits = toolkits().versions();
    options.some_hosts = !hosts_of(context.options).empty();
    options.origin = context.options.take_over ? "" : origin_of(cluster.spec);
    const auto result = co_await down(cluster.spec, cluster.engines, options, *context.reporter);
    if (result.errors.empty()) {
        remove_login(context, cluster.spec);
    }
    for (const auto& orphan : result.orphans) {
        context.reporter->on(warning_event(orphan_warning(orphan)));
    }
    context.reporter->finish();
    const int code = result.errors.empty() ? 0 : context.fail(result.errors);
    if (context.json()) {
        context.print_json({{"type", "result"},
                            {"cluster", cluster.spec.name.str()},
                            {"removed", result.removed},
                            {"orphans", result.orphans}});
    } else if (code == 0) {
        context.tell(result.removed == 0
                         ? fmt::format("{}: nothing to remove\n", cluster.spec.name.str())
                         : fmt::format("{} is down: {} container{} removed\n", cluster.spec.name.str(),
                                       result.removed, result.removed == 1 ? "" : "s"));
    }
    co_return code;
}

} // namespace

void add_down(CLI::App& app, Program& program) {
    auto options = std::make_shared<DownOptions>();
    auto* command =
        describe(app.add_subcommand("down", "Remove every container of the cluster from its hosts"),
                 command_group::cluster, {"dockdist down", "dockdist down --stop-jobs"});
    command->add_flag(
        "--purge", options->purge,
        "Remove dockdist's own volumes too (toolkit, who holds which GPU), where nothing else uses "
        "them");
    command->add_flag("--break-lock", options->break_lock, "Go on even if somebody is changing the cluster");
    command->add_flag("--stop-jobs", options->stop_jobs,
                      "Stop the jobs that run on it; without this they are listed, and nothing is removed");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_down(context, *options); };
    });
}

} // namespace dockdist

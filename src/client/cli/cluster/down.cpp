#include "client/cluster/down.hpp"

#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/own_ssh.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

// What stays, and how it goes; "" where nothing does.
std::string kept_text(const DownResult& result) {
    const bool told = result.kept.jobs > 0;
    if (result.stores == 0 && !told) {
        return "";
    }
    return fmt::format(
        "the history {}, stays on the hosts; `dockdist down --purge` removes it\n",
        told ? fmt::format("of {}, {}", counted(result.kept.jobs, "job"), format_size(result.kept.size))
             : fmt::format("of its jobs, in {}", counted(result.stores, "volume")));
}

std::string removed_text(const std::string& name, const DownResult& result) {
    if (result.removed == 0 && result.purged == 0) {
        return name + ": nothing to remove\n";
    }
    const auto history =
        result.purged == 0 ? "" : ", the history of its jobs in " + counted(result.purged, "volume") + " too";
    return fmt::format("{} is down: {} removed{}\n", name, counted(result.removed, "container"), history);
}

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
                            {"kept_jobs", result.kept.jobs},
                            {"kept_bytes", result.kept.size.count},
                            {"orphans", result.orphans}});
    } else if (code == 0) {
        context.tell(removed_text(cluster.spec.name.str(), result) + kept_text(result));
    }
    co_return code;
}

} // namespace

void add_down(CLI::App& app, Program& program) {
    auto options = std::make_shared<DownOptions>();
    auto* command = describe(
        app.add_subcommand("down", "Remove every container of the cluster from its hosts"),
        command_group::cluster,
        {"dockdist down", "dockdist down --stop-jobs", "dockdist down --purge   # and forget its jobs"});
    command->add_flag(
        "--purge", options->purge,
        "Remove the history of the cluster's jobs too, also when it is down already; and dockdist's own "
        "volumes (toolkit, who holds which GPU), where nothing else uses them");
    command->add_flag("--break-lock", options->break_lock, "Go on even if somebody is changing the cluster");
    command->add_flag("--stop-jobs", options->stop_jobs,
                      "Stop the jobs that run on it; without this they are listed, and nothing is removed");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_down(context, *options); };
    });
}

} // namespace dockdist

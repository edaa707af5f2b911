#include "client/plan/plan.hpp"

#include "client/cli/context.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/line/values.hpp"
#include "client/cluster/find_losses.hpp"
#include "client/cluster/plan_changes.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/random.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

nlohmann::json lost_json(const LostFiles& lost) {
    return {{"files", lost.files},
            {"bytes", lost.bytes.count},
            {"some", lost.some},
            {"jobs", lost.jobs},
            {"unknown", lost.unknown}};
}

nlohmann::json to_json(const Plan& plan, const ClusterSpec& spec) {
    auto json = nlohmann::json::array();
    const auto add = [&](const char* operation, std::size_t host, nlohmann::json more) {
        more["operation"] = operation;
        more["host"] = spec.hosts[host].name.str();
        json.push_back(std::move(more));
    };
    if (plan.build) {
        json.push_back({{"operation", "build_image"},
                        {"host", spec.image.from},
                        {"image", plan.build->image.str()},
                        {"cause", plan.build->cause}});
    }
    for (const auto& pull : plan.pulls) {
        add("pull_image", pull.host, {{"image", pull.image.str()}, {"cause", pull.cause}});
    }
    for (const auto& send : plan.sends) {
        add("send_image", send.host,
            {{"image", send.image.str()}, {"from", spec.image.from}, {"cause", send.cause}});
    }
    for (const auto& upload : plan.uploads) {
        add("upload_toolkit", upload.host, {{"architecture", upload.architecture}});
    }
    for (const auto& stop : plan.stops) {
        nlohmann::json nodes = nlohmann::json::array();
        for (const auto& part : stop.job.parts) {
            nodes.push_back(part.node.str());
        }
        add("stop_job", stop.job.parts.front().host,
            {{"job", stop.job.job.str()},
             {"owner", stop.job.owner},
             {"nodes", std::move(nodes)},
             {"cause", stop.cause}});
    }
    for (const auto& removal : plan.removals) {
        add("remove_container", removal.host,
            {{"container", removal.name}, {"cause", removal.cause}, {"lost", lost_json(removal.lost)}});
    }
    for (const auto& rename : plan.renames) {
        add("rename_container", rename.host,
            {{"container", rename.from}, {"to", rename.to}, {"cause", rename.cause}});
    }
    for (const auto& create : plan.creates) {
        add(create.replaces ? "replace_container" : "create_container", create.host,
            {{"container", create.container_name},
             {"node", create.node.name.str()},
             {"gpus", create.gpus},
             {"cause", create.cause},
             {"lost", lost_json(create.lost)}});
    }
    for (const auto& start : plan.starts) {
        add("start_node", start.host, {{"node", start.node.str()}, {"cause", start.cause}});
    }
    for (const auto& join : plan.joins) {
        add("join_node", join.host, {{"node", join.node.name.str()}, {"rank", join.node.rank}});
    }
    return json;
}

Task<int> run_plan(Context& context) {
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    QuietReporter quiet(*context.reporter);
    auto observation = co_await observe(cluster.spec, cluster.engines, toolkits().versions(), quiet);
    if (!observation.errors.empty()) {
        co_return context.fail(observation.errors);
    }
    std::optional<ImageDetails> source;
    bool build = false;
    if (const auto find = image_source_of(context, cluster, Build::never)) {
        auto found = co_await find();
        build = !found && found.error().kind == ErrorKind::not_found && cluster.spec.image.build;
        if (!found && !build) {
            co_return context.fail(found.error());
        }
        if (found) {
            source = std::move(found->image);
        }
    }
    const PlanContext setting{.toolkits = toolkits(),
                              .release = DOCKDIST_VERSION,
                              .origin = origin_of(cluster.spec),
                              .attempt = random_hex(8),
                              .take_over = true,
                              .stop_jobs = true,
                              .source = std::move(source),
                              .build = build};
    auto planned =
        co_await plan_with_look(cluster.spec, cluster.engines, observation.cluster, setting, quiet);
    if (!planned.errors.empty()) {
        co_return context.fail(planned.errors);
    }
    co_await find_losses(cluster.engines, planned.plan, sent_by_sync(context, cluster.spec));
    for (const auto& warning : planned.warnings) {
        context.reporter->on(warning_event(warning));
    }
    if (context.json()) {
        context.print_json({{"cluster", cluster.spec.name.str()},
                            {"operations", to_json(planned.plan, cluster.spec)},
                            {"orphans", planned.plan.orphans}});
    } else {
        context.tell(to_text(planned.plan, cluster.spec));
    }
    co_return 0;
}

} // namespace

void add_plan(CLI::App& app, Program& program) {
    auto* command = describe(app.add_subcommand("plan", "Show what `up` would do, and why; changes nothing"),
                             command_group::cluster, {"dockdist plan"});
    command->callback([&program] {
        program.one_value = true;
        program.work = run_plan;
    });
}

} // namespace dockdist

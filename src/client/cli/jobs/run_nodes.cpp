#include "client/cli/jobs/run_nodes.hpp"

#include "client/cli/jobs/rdma_required.hpp"
#include "client/job/old_nodes.hpp"
#include "client/job/select_nodes.hpp"
#include "client/job/wait_for_gpus.hpp"
#include "shared/core/with_hint.hpp"
#include "shared/launch/diagnosis_env.hpp"
#include "shared/launch/relaunch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

Status put_nodes(PreparedRun& prepared, const Attached& cluster, std::vector<ReadyNode> nodes) {
    prepared.request.nodes.clear();
    for (const auto& node : nodes) {
        auto seen = launch_node(cluster.spec, node, prepared.job.env, prepared.request.ranks_per_node);
        TRY(seen);
        prepared.request.nodes.push_back(std::move(*seen));
    }
    prepared.nodes = std::move(nodes);
    return check_slots(prepared.launcher, prepared.request);
}

// Of nodes that cannot take part over RDMA none is chosen, where enough others are there.
std::vector<ReadyNode> without_unfit(const Attached& cluster) {
    auto nodes = cluster.nodes;
    for (const auto& lacking : lacking_rdma(cluster.spec.network, nodes)) {
        std::erase_if(nodes, [&](const ReadyNode& node) { return node.name.str() == lacking.where; });
    }
    return nodes;
}

// What each node has to start, from what the nodes say.
void make_launches(PreparedRun& prepared, Decided& decided) {
    decided.launches.clear();
    decided.warnings.clear();
    decided.errors = take_answers(prepared.launcher, prepared.request, facts_of(decided.opened));
    if (!decided.errors.empty()) {
        return;
    }
    auto& nodes = prepared.request.nodes;
    if (prepared.job.min_nodes > 0) {
        prepared.job.relaunch = relaunch_text(prepared.launcher, prepared.request);
    }
    nodes.resize(nodes.size() - prepared.spares);
    if (prepared.launcher.warnings != nullptr) {
        decided.warnings = prepared.launcher.warnings(prepared.request);
    }
    auto launches = launch_job(prepared.launcher, prepared.request);
    if (launches) {
        decided.launches = std::move(*launches);
    } else {
        decided.errors.push_back(launches.error());
    }
}

// Puts the job on the nodes that it has, or would have as things stand.
Task<Errors> settle(const Attached& cluster, PreparedRun& prepared, Decided& decided, const SyncTo& sync) {
    if (const auto put = put_nodes(prepared, cluster, nodes_of(decided.opened)); !put) {
        co_return Errors{put.error()};
    }
    if (auto lacking = lacking_rdma(cluster.spec.network, prepared.nodes); !lacking.empty()) {
        co_return lacking;
    }
    auto errors = co_await while_open(decided.opened, prepared.job.lease, sync(prepared.nodes));
    if (errors.empty()) {
        make_launches(prepared, decided);
        errors = decided.errors;
    }
    co_return errors;
}

} // namespace

Errors judge_missing(const Context& context, const Attached& cluster, const RunOptions& options,
                     std::size_t spares) {
    if (!says_how_many(options.nodes)) {
        return with_hint(cluster.errors, options.nodes.empty() ? "or run without it: --keep-going"
                                                               : "or leave it out of --nodes");
    }
    if (select_nodes(cluster.spec, cluster.nodes, options.nodes, options.exclude, spares)) {
        warn_of_missing(context, cluster.errors);
        return {};
    }
    return with_hint(cluster.errors,
                     fmt::format("or run on what is ready: --nodes {}", cluster.nodes.size()));
}

Result<NodeChoice> choose_nodes(PreparedRun& prepared, const RunOptions& options, const Attached& cluster,
                                const Context& context) {
    const auto among = [&](const std::vector<ReadyNode>& nodes) {
        return choose_nodes(cluster.spec, nodes, options.nodes, options.exclude, prepared.spares);
    };
    auto choice = among(cluster.nodes);
    if (choice && choice->is_free()) {
        if (auto fit = among(without_unfit(cluster))) {
            choice = std::move(fit);
        }
    }
    if (!choice) {
        return choice;
    }
    const auto first = choice->first();
    TRY(set_restarts(options.restarts, static_cast<int>(first.size()), static_cast<int>(prepared.spares),
                     prepared.job));
    TRY(put_nodes(prepared, cluster, first));
    std::optional<Error> warning;
    TRY(judge_launch_line(prepared, first.size() - prepared.spares, warning));
    if (warning) {
        context.reporter->on(warning_event(*warning));
    }
    return choice;
}

Task<Decided> decide(const Context& context, const Attached& cluster, PreparedRun& prepared,
                     const NodeChoice& choice, const SyncTo& sync) {
    auto& job = prepared.job;
    job.ask_old_nodes = [&cluster] { return held_in_old_nodes(cluster.engines, cluster.observed); };
    const auto asked = questions(prepared.launcher, prepared.request);
    const int ports = ports_of(prepared.launcher, prepared.request);
    Decided decided;
    if (choice.is_free() && !job.gpus.share) {
        job.old_holds = co_await job.ask_old_nodes();
        decided.opened = co_await open_any(cluster.engines, choice, job, asked, ports, context.reporter);
        decided.errors = decided.opened.errors;
        decided.chosen = decided.errors.empty() && decided.opened.looks;
        if (decided.chosen) {
            std::erase_if(decided.opened.left_out, [](const Error& error) { // too few GPUs: others have them
                return error.kind == ErrorKind::config;
            });
            warn_of_missing(context, decided.opened.left_out);
            decided.errors = co_await settle(cluster, prepared, decided, sync);
        }
        if (decided.chosen || !decided.errors.empty()) {
            co_return decided;
        }
        context.reporter->on({.kind = Event::Kind::note,
                              .text =
                                  "nodes that an older dockdist created do not say which of them are free, "
                                  "so the first ones are taken: `dockdist up` recreates them"});
        decided = {};
    }
    decided.errors = lacking_rdma(cluster.spec.network, prepared.nodes);
    if (decided.errors.empty()) {
        decided.errors = co_await sync(prepared.nodes);
    }
    if (!decided.errors.empty()) {
        co_return decided;
    }
    job.old_holds = co_await job.ask_old_nodes();
    // Of a job that goes on without a lost node, any may become the first.
    decided.opened =
        co_await open_job(cluster.engines, prepared.nodes, job, asked,
                          {ports, prepared.launcher.ports_everywhere || job.min_nodes > 0}, context.reporter);
    decided.errors = decided.opened.errors;
    if (decided.errors.empty()) {
        make_launches(prepared, decided);
    }
    co_return decided;
}

Task<Errors> decide_again(const Attached& cluster, PreparedRun& prepared, Decided& decided,
                          const SyncTo& sync) {
    const auto names = [](const std::vector<ReadyNode>& nodes) {
        std::vector<NodeName> all;
        std::ranges::transform(nodes, std::back_inserter(all), &ReadyNode::name);
        return all;
    };
    if (!decided.chosen || names(prepared.nodes) == names(nodes_of(decided.opened))) {
        co_return Errors();
    }
    co_return co_await settle(cluster, prepared, decided, sync);
}

} // namespace dockdist

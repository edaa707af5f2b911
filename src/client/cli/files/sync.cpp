// sync: what `sync:` of the file names, brought to every node; once, or as it changes.
#include "client/cli/files/late_reporter.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/job/running_jobs.hpp"
#include "client/job/select_nodes.hpp"
#include "client/sync/sync_text.hpp"
#include "client/sync/tree_watch.hpp"

#include <CLI/CLI.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

struct SyncOptions {
    bool remove = false;
    bool dry_run = false;
    bool watch = false;
    bool stop_jobs = false;
    std::vector<std::string> nodes{};
};

std::vector<NodeWords> named_in(const SyncOptions& options) {
    std::vector<NodeWords> words;
    for (const auto& text : options.nodes) {
        words.push_back({.option = "--node", .text = text});
    }
    return words;
}

Result<std::vector<ReadyNode>> chosen(const SyncOptions& options, const Attached& cluster) {
    if (options.nodes.empty()) {
        return cluster.nodes;
    }
    std::vector<ReadyNode> nodes;
    for (const auto& words : named_in(options)) {
        auto some = named_nodes(cluster.spec, cluster.nodes, words);
        TRY(some);
        for (auto& node : *some) {
            if (std::ranges::find(nodes, node.name, &ReadyNode::name) == nodes.end()) {
                nodes.push_back(std::move(node));
            }
        }
    }
    return nodes;
}

void print(const Context& context, const SyncOptions& options, const Source& source,
           const SyncedTree& synced) {
    if (context.json()) {
        auto json = to_json(source.shown, source.spec.target, source.tree, synced, options.dry_run);
        json["type"] = "result";
        json["dry_run"] = options.dry_run;
        context.print_json(json);
        return;
    }
    if (options.dry_run) {
        context.tell(fmt::format("{} → {}, not done yet:\n{}", source.shown, source.spec.target,
                                 dry_run_text(source.tree, synced)));
    } else {
        context.tell(summary(source.shown, source.spec.target, synced) + "\n");
    }
    if (const auto left_out = left_out_text(source.tree); !left_out.empty()) {
        context.tell(left_out + "\n");
    }
}

Task<Errors> sync_all(const Context& context, const SyncOptions& options, Synchroniser& synchroniser,
                      LateReporter& reporter, const std::vector<Source>& sources, bool quiet) {
    Errors all;
    for (const auto& source : sources) {
        const auto synced = co_await synchroniser.sync(source.tree, source.spec.target,
                                                       {.remove = source.spec.remove || options.remove});
        reporter.finish();
        warn_of_unsettled(context, synced);
        const auto errors = synced.errors();
        const bool changed =
            std::ranges::any_of(synced.nodes, [](const SyncedNode& node) { return !node.plan.empty(); });
        if ((changed || !quiet) && errors.size() < synced.nodes.size()) {
            print(context, options, source, synced);
        }
        all.insert(all.end(), errors.begin(), errors.end());
    }
    co_return all;
}

// The sources, with every folder of theirs watched.
Result<std::vector<Source>> watched_sources(const Context& context, const ClusterSpec& spec, TreeWatch& watch,
                                            bool warn) {
    while (true) {
        auto sources = read_sources(context, spec, warn);
        bool fresh = false;
        if (!sources) {
            return sources;
        }
        for (const auto& source : *sources) {
            const auto added = watch.watch(source.tree);
            TRY(added);
            fresh = fresh || *added;
        }
        if (!fresh) {
            return sources;
        }
        warn = false;
    }
}

Task<int> watch_sources(Context& context, const SyncOptions& options, const Attached& cluster,
                        std::vector<ReadyNode> nodes) {
    TreeWatch watch(context.executor);
    LateReporter reporter(*context.reporter);
    Synchroniser synchroniser(cluster.engines, std::move(nodes), {.opening = sync_opening_of(cluster.spec)},
                              reporter);
    for (bool first = true;; first = false) {
        const auto sources = watched_sources(context, cluster.spec, watch, first);
        if (!sources && first) {
            co_return context.fail(sources.error());
        }
        if (!sources) {
            context.fail(sources.error());
        } else {
            reporter.restart();
            const auto errors = co_await sync_all(context, options, synchroniser, reporter, *sources, !first);
            context.fail(errors);
            if (first) {
                context.reporter->on(
                    {.kind = Event::Kind::note, .text = "watching for changes, until Ctrl-C"});
            }
        }
        if (auto changed = co_await watch.changed(); !changed) {
            co_return context.fail(changed.error());
        }
    }
}

// Files of a running job do not go from under it unasked. What it begins to use later, in a --watch, may.
Task<Errors> make_way_for_removals(Context& context, const SyncOptions& options, const Attached& cluster,
                                   std::vector<ReadyNode> nodes) {
    const bool removes =
        options.remove || std::ranges::any_of(cluster.spec.sync, [](const auto& one) { return one.remove; });
    if (!removes || options.dry_run) {
        co_return Errors{};
    }
    co_return co_await make_way(cluster.engines, co_await find_running_jobs(cluster.engines, nodes),
                                options.stop_jobs, "it may be using the files that would be removed",
                                *context.reporter);
}

Task<int> run_sync(Context& context, SyncOptions options) {
    auto cluster = co_await attach_to_cluster(context, {.named = named_in(options)});
    if (cluster.spec.sync.empty() && cluster.errors.empty()) {
        co_return context.fail({ErrorKind::usage, cluster.spec.file.string(), "it has no `sync`",
                                "write `sync: [\".:/workspace\"]`: what, and where to in the nodes"});
    }
    // One node that is not ready does not keep us from others.
    if (cluster.nodes.empty()) {
        co_return context.fail(cluster.errors);
    }
    auto nodes = chosen(options, cluster);
    if (!nodes) {
        co_return context.fail(cluster.errors.empty() ? Errors{nodes.error()} : cluster.errors);
    }
    const int code = cluster.errors.empty() || !options.nodes.empty() ? 0 : context.fail(cluster.errors);
    if (const auto errors = co_await make_way_for_removals(context, options, cluster, *nodes);
        !errors.empty()) {
        co_return context.fail(errors);
    }
    if (options.watch) {
        const auto ended =
            co_await until_interrupt(context, watch_sources(context, options, cluster, std::move(*nodes)));
        co_return ended.value_or(code); // Ctrl-C is how it ends
    }
    const auto sources = read_sources(context, cluster.spec, true);
    if (!sources) {
        co_return context.fail(sources.error());
    }
    LateReporter reporter(*context.reporter);
    Synchroniser synchroniser(cluster.engines, std::move(*nodes),
                              {.opening = sync_opening_of(cluster.spec), .dry_run = options.dry_run},
                              reporter);
    const auto errors = co_await sync_all(context, options, synchroniser, reporter, *sources, false);
    co_return errors.empty() ? code : context.fail(errors);
}

} // namespace

void add_sync(CLI::App& app, Program& program) {
    auto options = std::make_shared<SyncOptions>();
    auto* command = describe(
        app.add_subcommand("sync",
                           "Copy what `sync` in the file names to every node, sending only what changed"),
        command_group::files, {"dockdist sync", "dockdist sync --watch", "dockdist sync --delete --dry-run"});
    command->add_flag(
        "--delete", options->remove,
        "Remove what is on the nodes and not here; never what .gitignore or .dockdistignore exclude");
    command->add_flag(
        "--stop-jobs", options->stop_jobs,
        "Where files are removed: stop the jobs that run there first; without this they are named, "
        "and nothing is done");
    auto* dry_run =
        command->add_flag("--dry-run", options->dry_run, "Say what would be done, and write nothing");
    command
        ->add_flag("--watch", options->watch, "Keep running and send changes as they are made, until Ctrl-C")
        ->excludes(dry_run);
    command
        ->add_option("--node", options->nodes,
                     "Only this node, by name or rank, or these: node-[0-3], @rack2; repeatable")
        ->type_name("NODES")
        ->allow_extra_args(false);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_sync(context, *options); };
    });
}

} // namespace dockdist

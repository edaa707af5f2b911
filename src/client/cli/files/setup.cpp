// setup: what `setup:` of the file names, on the nodes that have not done it.
#include "client/cli/files/set_up_nodes.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/line/values.hpp"
#include "shared/core/counted.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

struct SetupCommand {
    SetupOptions setup{};
    bool no_sync = false;
};

nlohmann::json names_json(const std::vector<NodeName>& nodes) {
    auto names = nlohmann::json::array();
    for (const auto& node : nodes) {
        names.push_back(node.str());
    }
    return names;
}

void print_setup(const Context& context, const ClusterSpec& spec, const SetupResult& result) {
    const auto ran = std::ranges::count_if(result.lines, [](const auto& line) { return !line.done.empty(); });
    if (!context.json()) {
        const auto count = spec.setup.size();
        context.tell(ran == 0 ? fmt::format("all {} of `setup` were done before\n", counted(count, "command"))
                              : fmt::format("{} of {} run\n", ran, counted(count, "command")));
        return;
    }
    auto lines = nlohmann::json::array();
    for (std::size_t i = 0; i < result.lines.size(); ++i) {
        lines.push_back({{"run", spec.setup[i].run},
                         {"done", names_json(result.lines[i].done)},
                         {"before", names_json(result.lines[i].before)}});
    }
    context.print_json({{"type", "result"}, {"setup", std::move(lines)}});
}

Task<int> run_setup(Context& context, SetupCommand options) {
    auto cluster = co_await attach_to_cluster(context, {.secrets = Secrets::resolve});
    if (cluster.nodes.empty()) {
        co_return context.fail(cluster.errors);
    }
    if (cluster.spec.setup.empty()) {
        co_return context.fail(Error{ErrorKind::config, cluster.spec.file.string(), "`setup` has no commands",
                                     "write `setup: [\"pip install -e /workspace\"]`"});
    }
    const int code = cluster.errors.empty() ? 0 : context.fail(cluster.errors); // the others are there
    const auto unsynced = co_await sync_first(context, cluster.spec, cluster.engines, cluster.nodes,
                                              {.no_sync = options.no_sync});
    if (!unsynced.empty()) {
        co_return context.fail(unsynced);
    }
    const auto result =
        co_await set_up_nodes(context, cluster.spec, cluster.engines, cluster.nodes, options.setup);
    context.reporter->finish();
    if (!result.errors.empty()) {
        co_return context.fail(result.errors);
    }
    print_setup(context, cluster.spec, result);
    co_return code;
}

} // namespace

void add_setup(CLI::App& app, Program& program) {
    auto options = std::make_shared<SetupCommand>();
    auto* command = describe(
        app.add_subcommand(
            "setup", "Run what `setup` in the file names on the nodes that have not done it, as `up` does"),
        command_group::files, {"dockdist setup", "dockdist setup --again"});
    command->add_flag("--again", options->setup.again, "On every node, even where they were run before");
    command->add_flag("--no-sync", options->no_sync, "Skip `sync` in the file");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_setup(context, *options); };
    });
}

} // namespace dockdist

#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/node_json.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

Task<int> run_hostfile(Context& context) {
    auto cluster = co_await attach_to_cluster(context, {.looks = true});
    if (cluster.nodes.empty()) {
        co_return context.fail(cluster.errors);
    }
    const int code = cluster.errors.empty() ? 0 : context.fail(cluster.errors); // the others are there
    if (context.json()) {
        auto json = nlohmann::json::array();
        for (const auto& node : cluster.nodes) {
            json.push_back(node_json(node, cluster.spec));
        }
        context.print_json(json);
        co_return code;
    }
    std::string text;
    for (const auto& node : cluster.nodes) {
        text += fmt::format("{} slots={}\n", node.name.str(), node.record.slots);
    }
    context.print(text);
    co_return code;
}

} // namespace

void add_hostfile(CLI::App& app, Program& program) {
    auto* command = describe(
        app.add_subcommand("hostfile", "Print the cluster's hostfile: a line `NODE slots=N` for each node"),
        command_group::looking, {"dockdist hostfile > hosts"});
    command->callback([&program] {
        program.one_value = true;
        program.work = run_hostfile;
    });
}

} // namespace dockdist

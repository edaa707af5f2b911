// forward: ports of this machine that lead to a node's, until Ctrl-C.
#include "client/cli/browser.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/forwarding.hpp"
#include "client/cli/until_interrupt.hpp"

#include <CLI/CLI.hpp>
#include <boost/system/system_error.hpp>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

struct ForwardOptions {
    std::string node{};
    std::vector<std::string> ports{};
    bool open = false;
};

Task<int> run_forward(Context& context, ForwardOptions options) {
    const auto wanted = parse_forward_ports(options.ports, "PORT");
    if (!wanted.errors.empty()) {
        co_return context.fail(wanted.errors);
    }
    const NodeWords words{.text = options.node};
    auto cluster = co_await attach_to_cluster(context, {.named = {words}});
    const auto node = one_node(cluster, words);
    if (!node) {
        co_return context.fail(why_no_node(cluster, node.error()));
    }
    auto local = take_local_ports(context.executor, wanted.ports);
    if (!local.errors.empty()) {
        co_return context.fail(local.errors);
    }
    const auto forwarder =
        make_forwarder(context, cluster.spec, cluster.engines, *node, std::move(local.ports));
    auto ended = co_await until_interrupt(context, forwarder->run([&] {
        tell_forwarded(context, *forwarder, [&](const auto& line) { context.print_json(line); });
        if (options.open) {
            open_browser(context, forwarder->ports().front().url());
        }
    }));
    if (!ended) {
        co_return 0; // Ctrl-C is how it ends
    }
    ended->where = ended->where.empty() ? node->name.str() : ended->where;
    co_return context.fail(*ended);
}

} // namespace

void add_forward(CLI::App& app, Program& program) {
    auto options = std::make_shared<ForwardOptions>();
    auto* command =
        describe(app.add_subcommand("forward", "Reach ports of a node from this machine, until Ctrl-C"),
                 command_group::nodes,
                 {"dockdist forward node-0 6006", "dockdist forward node-0 0:8888 8080:db.internal:5432"});
    command->add_option("NODE", options->node, "A node's name or rank, or a group of one: @head")->required();
    command
        ->add_option(
            "PORT", options->ports,
            "8888: that port, here and on the node's loopback; 8080:8888: another one here, 0: any that is "
            "free; 8080:HOST:5432: what the node reaches under that name")
        ->required();
    command->add_flag("--open", options->open, "Show the first one in the browser");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_forward(context, *options); };
    });
}

} // namespace dockdist

#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/looking/rdma_view.hpp"
#include "client/plan/made_by.hpp"
#include "client/plan/plan.hpp"
#include "client/report/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <set>

namespace dockdist {
namespace {

std::string_view state_text(ContainerState state) {
    switch (state) {
    case ContainerState::created:
        return "created";
    case ContainerState::running:
        return "running";
    case ContainerState::paused:
        return "paused";
    case ContainerState::restarting:
        return "restarting";
    case ContainerState::removing:
        return "removing";
    case ContainerState::exited:
        return "exited";
    case ContainerState::dead:
        return "dead";
    }
    return "unknown";
}

struct Row {
    std::string node{}, host{}, state{}, container{};
    std::optional<wire::NodeRecord> record{};
    std::optional<MadeBy> by{}; // where there is a container
    std::string reached_by{};   // of a host over ssh
};

std::string reached_by(const ContainerEngine& engine) {
    if (engine.address().scheme != EngineAddress::Scheme::ssh) {
        return "";
    }
    const auto way = engine.way();
    return way.empty() ? "dockdist's own ssh" : way;
}

// Every node that the file names, then what bears the cluster's label besides.
std::vector<Row> rows_of(const ClusterSpec& spec, const Observation& observation, const Engines& engines) {
    std::vector<Row> rows;
    const auto nodes = expand_nodes(spec);
    for (const auto& node : nodes) {
        Row row{.node = node.name.str(),
                .host = spec.hosts[node.host].docker.url,
                .reached_by = reached_by(*engines[node.host])};
        const auto& there = observation.cluster.hosts[node.host].nodes;
        const auto found = std::ranges::find(there, node.name, &ObservedNode::node);
        if (!observation.reached[node.host]) {
            row.state = "unreachable";
        } else if (found == there.end()) {
            row.state = "absent";
        } else {
            row.state = found->record ? "ready" : state_text(found->state);
            row.container = found->id.str();
            row.record = found->record;
            row.by = made_by(found->labels);
        }
        rows.push_back(std::move(row));
    }
    for (std::size_t host = 0; host < observation.cluster.hosts.size(); ++host) {
        for (const auto& node : observation.cluster.hosts[host].nodes) {
            // Two hosts of the file may be one engine, which tells of both hosts' nodes.
            if (std::ranges::find(rows, node.id.str(), &Row::container) == rows.end()) {
                rows.push_back({.node = node.node.str(),
                                .host = spec.hosts[host].docker.url,
                                .state = "left over",
                                .container = node.id.str()});
            }
        }
    }
    return rows;
}

void print_json(const Context& context, const ClusterSpec& spec, const std::vector<Row>& rows,
                const RdmaView& rdma) {
    auto nodes = nlohmann::json::array();
    for (const auto& row : rows) {
        nlohmann::json node{
            {"node", row.node}, {"host", row.host}, {"state", row.state}, {"container", row.container}};
        if (!row.reached_by.empty()) {
            node["reached_by"] = row.reached_by;
        }
        if (row.by) {
            node.update({{"release", row.by->release}, {"wire", row.by->wire}});
        }
        if (row.record) {
            node.update({{"rank", row.record->rank},
                         {"address", row.record->address},
                         {"interface", row.record->interface},
                         {"ssh_port", row.record->ssh_port},
                         {"slots", row.record->slots},
                         {"gpus", row.record->gpus},
                         {"rdma", rdma.to_json(row.node)}});
        }
        nodes.push_back(std::move(node));
    }
    context.print_json({{"cluster", spec.name.str()}, {"nodes", std::move(nodes)}});
}

std::string to_table(const std::vector<Row>& rows, std::size_t most_rows, const OutputTraits& output) {
    Table table({{.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle, .least = 12},
                 {.title = "STATE", .paint = state_style},
                 {.title = "ADDRESS", .fold = Fold::any, .give_up = 6},
                 {.title = "INTERFACE", .give_up = 2},
                 {.title = "SSH PORT", .align = Align::right, .fold = Fold::any, .give_up = 4},
                 {.title = "SLOTS", .align = Align::right, .give_up = 5},
                 {.title = "GPUS", .align = Align::right, .give_up = 7},
                 {.title = "HOST", .fold = Fold::any, .narrow = Narrow::middle, .give_up = 3, .least = 16},
                 {.title = "CONTAINER", .fold = Fold::any, .give_up = 1}});
    for (const auto& row : rows) {
        const auto* record = row.record ? &*row.record : nullptr;
        const auto number = [&](int wire::NodeRecord::* field) {
            return record == nullptr ? "-" : std::to_string(record->*field);
        };
        table.add_row({row.node, row.state, record == nullptr ? "-" : record->address,
                       record == nullptr ? "-" : record->interface, number(&wire::NodeRecord::ssh_port),
                       number(&wire::NodeRecord::slots), number(&wire::NodeRecord::gpus), row.host,
                       row.container.substr(0, 12)});
    }
    return table.to_text(most_rows, output);
}

std::string ways_text(const std::vector<Row>& rows, std::size_t most_rows, const OutputTraits& output) {
    Table table({{.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle, .least = 12},
                 {.title = "REACHED BY", .narrow = Narrow::wrap, .least = 20}});
    for (const auto& row : rows) {
        if (!row.reached_by.empty()) {
            table.add_row({row.node, row.reached_by});
        }
    }
    return table.empty() ? "" : "\n" + table.to_text(most_rows, output);
}

// Nodes that this client can do only a part with.
Errors of_other_versions(const std::vector<Row>& rows) {
    Errors others;
    for (const auto& row : rows) {
        if (row.by && row.state != "left over" && understanding_of(*row.by) != Understanding::all) {
            others.push_back(
                {ErrorKind::node, row.node, other_words(*row.by), bring_to_this_version(*row.by)});
        }
    }
    return others;
}

struct StatusOptions {
    std::vector<std::string> nodes{};
    bool all = false;
    bool verbose = false;
};

// Those that were asked for, in the file's order; what is left over is nobody's.
Result<std::vector<Row>> asked_for(std::vector<Row> rows, const ClusterSpec& spec,
                                   const StatusOptions& options) {
    std::set<std::string> names;
    for (const auto& text : options.nodes) {
        const auto named = find_named(spec, {.option = "--node", .text = text});
        TRY(named);
        for (const auto& node : *named) {
            names.insert(node.name.str());
        }
    }
    if (!names.empty()) {
        std::erase_if(rows,
                      [&](const Row& row) { return !names.contains(row.node) || row.state == "left over"; });
    }
    return rows;
}

Task<int> run_status(Context& context, StatusOptions options) {
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    if (const auto good = asked_for({}, cluster.spec, options); !good) { // before any host is asked
        co_return context.fail(good.error());
    }
    QuietReporter quiet(*context.reporter);
    const auto observation = co_await observe(cluster.spec, cluster.engines, {}, quiet);

    const auto there = rows_of(cluster.spec, observation, cluster.engines);
    std::vector<wire::NodeRecord> records;
    for (const auto& row : there) {
        if (row.record) {
            records.push_back(*row.record);
        }
    }
    const RdmaView rdma(records);
    const auto rows = *asked_for(there, cluster.spec, options);
    if (context.json()) {
        print_json(context, cluster.spec, rows, rdma);
    } else {
        const auto most = context.table_rows(options.all);
        context.show(to_table(rows, most, context.output()) +
                     (options.verbose
                          ? ways_text(rows, most, context.output()) + rdma.to_text(most, context.output())
                          : ""));
        const bool some =
            std::ranges::any_of(records, [](const auto& one) { return !one.rdma.ports.empty(); });
        if (options.verbose && some && std::ranges::any_of(there, [](const Row& row) {
                return !row.record && row.state != "left over";
            })) {
            context.show("\nOnly nodes that are ready are considered: what jobs were told when all joined "
                         "may differ.\n");
        }
    }
    context.warn(of_other_versions(rows));
    if (!observation.errors.empty()) {
        co_return context.fail(observation.errors);
    }
    co_return std::ranges::all_of(rows, [](const Row& row) { return row.state == "ready"; }) ? 0 : 1;
}

} // namespace

void add_status(CLI::App& app, Program& program) {
    auto options = std::make_shared<StatusOptions>();
    auto* command = describe(
        app.add_subcommand(
            "status", "Show every node: state, address, ssh port, slots; exit code 1 unless all are ready"),
        command_group::looking,
        {"dockdist status", "dockdist status --node 'node-[0-3]'", "dockdist status -o json"});
    command
        ->add_option("--node", options->nodes,
                     "Only this node, by name or rank, or these: node-[0-3], @rack2; repeatable")
        ->type_name("NODES")
        ->allow_extra_args(false);
    command->add_flag("--all", options->all, "A row for every node, even where many are alike");
    command->add_flag(
        "-v,--verbose", options->verbose,
        "Also which ssh reaches each host, and why; and the nodes' RDMA ports: which of them jobs use, "
        "and what jobs are told about them");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_status(context, *options); };
    });
}

} // namespace dockdist

#include "cli/context.hpp"
#include "plan/labels.hpp"
#include "plan/plan.hpp"
#include "report/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

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
};

// Every node that the file names, then what bears the cluster's label besides.
std::vector<Row> rows_of(const ClusterSpec& spec, const Observation& observation) {
    std::vector<Row> rows;
    const auto nodes = expand_nodes(spec);
    for (const auto& node : nodes) {
        Row row{.node = node.name.str(), .host = spec.hosts[node.host].docker.url};
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

void print_json(const Context& context, const ClusterSpec& spec, const std::vector<Row>& rows) {
    auto nodes = nlohmann::json::array();
    for (const auto& row : rows) {
        nlohmann::json node{
            {"node", row.node}, {"host", row.host}, {"state", row.state}, {"container", row.container}};
        if (row.record) {
            node.update({{"rank", row.record->rank},
                         {"address", row.record->address},
                         {"interface", row.record->interface},
                         {"ssh_port", row.record->ssh_port},
                         {"slots", row.record->slots},
                         {"gpus", row.record->gpus}});
        }
        nodes.push_back(std::move(node));
    }
    context.print_json({{"cluster", spec.name.str()}, {"nodes", std::move(nodes)}});
}

std::string to_table(const std::vector<Row>& rows) {
    Table table({{"NODE"},
                 {"STATE"},
                 {"ADDRESS"},
                 {"INTERFACE"},
                 {"SSH", Align::right},
                 {"SLOTS", Align::right},
                 {"GPUS", Align::right},
                 {"HOST"},
                 {"CONTAINER"}});
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
    return table.to_text();
}

Task<int> run_status(Context& context) {
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    QuietReporter quiet(*context.reporter);
    const auto observation = co_await observe(cluster.spec, cluster.engines, "", quiet);

    const auto rows = rows_of(cluster.spec, observation);
    if (context.json()) {
        print_json(context, cluster.spec, rows);
    } else {
        context.print(to_table(rows));
    }
    if (!observation.errors.empty()) {
        co_return context.fail(observation.errors);
    }
    co_return std::ranges::all_of(rows, [](const Row& row) { return row.state == "ready"; }) ? 0 : 1;
}

} // namespace

void add_status(CLI::App& app, Program& program) {
    auto* command = app.add_subcommand(
        "status", "Show every node: state, address, ssh port, slots; exit code 1 unless all are ready");
    command->add_option("FILE", program.options.file, "cluster.yaml, as with --file");
    command->callback([&program] { program.work = run_status; });
}

} // namespace dockdist

// data: models and data sets that every host keeps.
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/data/data_text.hpp"
#include "client/job/running_jobs.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/path.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace dockdist {
namespace {

struct DataOptions {
    std::vector<std::string> targets{}; // of the entries; empty: all
    std::vector<std::string> nodes{};   // empty: all hosts
    bool stop_jobs = false;
};

Result<std::vector<DataSpec>> chosen_data(const ClusterSpec& spec, const DataOptions& options) {
    if (spec.data.empty()) {
        return Error{ErrorKind::usage, spec.file.string(), "it has no `data`",
                     "write `data: [{from: \"HOST:/data/llama\", to: /data/llama}]`: what, and where to on "
                     "every host"};
    }
    if (options.targets.empty()) {
        return spec.data;
    }
    std::vector<DataSpec> chosen;
    for (const auto& target : options.targets) {
        const auto found = std::ranges::find_if(
            spec.data, [&](const DataSpec& data) { return normal_path(data.target) == normal_path(target); });
        if (found == spec.data.end()) {
            std::vector<std::string> targets;
            std::ranges::transform(spec.data, std::back_inserter(targets), &DataSpec::target);
            return Error{ErrorKind::usage, spec.file.string(),
                         "no entry of `data` goes to " + printable(target),
                         fmt::format("there are: {}", fmt::join(targets, ", "))};
        }
        chosen.push_back(*found);
    }
    return chosen;
}

Result<std::vector<std::size_t>> chosen_hosts(const ClusterSpec& spec, const DataOptions& options) {
    std::set<NodeName> named;
    for (const auto& text : options.nodes) {
        const auto nodes = find_named(spec, {.option = "--node", .text = text});
        TRY(nodes);
        std::ranges::transform(*nodes, std::inserter(named, named.end()), &NamedNode::name);
    }
    std::set<std::size_t> hosts; // a node's data is its host's
    for (const auto& node : expand_nodes(spec)) {
        if (options.nodes.empty() || named.contains(node.name)) {
            hosts.insert(node.host);
        }
    }
    return std::vector<std::size_t>(hosts.begin(), hosts.end());
}

// Files of a running job do not go from under it unasked.
Task<Errors> make_way_for(const Context& context, const ClusterSpec& spec, const Engines& engines,
                          bool stop_jobs) {
    QuietReporter quiet(*context.reporter);
    auto observation = co_await observe(spec, engines, {}, quiet);
    const auto nodes = ready_nodes(spec, observation.cluster, observation.reached, Words::of_jobs).nodes;
    co_return co_await make_way(engines, co_await find_running_jobs(engines, nodes), stop_jobs,
                                "it may be using the files that would be removed", *context.reporter);
}

void print_states(const Context& context, const ClusterSpec& spec, DataWork work, const DataStates& states) {
    if (context.json()) {
        auto entries = nlohmann::json::array();
        for (const auto& [data, state] : states) {
            entries.push_back(to_json(data, state, spec, work));
        }
        nlohmann::json json{{"cluster", spec.name.str()}, {"data", std::move(entries)}};
        if (work != DataWork::look) {
            json["type"] = "result";
        }
        context.print_json(json);
        return;
    }
    if (work == DataWork::look) {
        context.show(to_table(states, spec, context.output()));
        return;
    }
    for (const auto& [data, state] : states) {
        const bool any =
            std::ranges::any_of(state.hosts, [](const auto& host) { return host.node.errors.empty(); });
        if (!any || !state.errors.empty()) {
            continue;
        }
        context.tell(work == DataWork::push ? pushed_text(data, state, spec)
                                            : removed_text(data, state, spec));
    }
}

Task<int> run_data_command(Context& context, DataWork work, DataOptions options) {
    const auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    const auto& spec = cluster.spec;
    auto entries = chosen_data(spec, options);
    if (!entries) {
        co_return context.fail(entries.error());
    }
    const auto hosts = chosen_hosts(spec, options);
    if (!hosts) {
        co_return context.fail(hosts.error());
    }
    const bool removes = work == DataWork::remove ||
                         (work == DataWork::push && std::ranges::any_of(*entries, &DataSpec::remove));
    if (removes) {
        const auto errors = co_await make_way_for(context, spec, cluster.engines, options.stop_jobs);
        if (!errors.empty()) {
            co_return context.fail(errors);
        }
    }
    DataStates states;
    Errors errors;
    for (auto& data : *entries) {
        auto state = co_await run_data(spec, cluster.engines, data,
                                       {.work = work,
                                        .hosts = *hosts,
                                        .toolkits = toolkits(),
                                        .attempt = random_hex(8),
                                        .origin = origin_of(spec)},
                                       *context.reporter);
        const bool stands_in_result = context.json() && work == DataWork::look;
        for (const auto& text : stands_in_result ? std::vector<std::string>{} : state.left_out) {
            context.reporter->on({.kind = Event::Kind::warning, .text = text});
        }
        auto own = state.all_errors();
        std::ranges::move(own, std::back_inserter(errors));
        states.emplace_back(std::move(data), std::move(state));
    }
    context.reporter->finish();
    print_states(context, spec, work, states);
    if (!errors.empty()) {
        co_return context.fail(errors);
    }
    const bool same =
        std::ranges::all_of(states, [](const auto& each) { return each.second.same_everywhere(); });
    co_return work == DataWork::look && !same ? 1 : 0;
}

} // namespace

void add_data(CLI::App& app, Program& program) {
    auto* data = describe(
        app.add_subcommand("data", "Models and data sets of `data` in the file: bring, show or remove them"),
        command_group::files, {"dockdist data ls", "dockdist data push"});
    data->require_subcommand(1);
    const auto add = [&](DataWork work, const char* name, const char* description) {
        auto options = std::make_shared<DataOptions>();
        auto* command = data->add_subcommand(name, description);
        auto* targets = command->add_option("TO", options->targets, "Only the entries that go there");
        if (work == DataWork::remove) {
            targets->required();
        }
        command
            ->add_option(
                "--node", options->nodes,
                "Only the hosts of this node, by name or rank, or of these: node-[0-3], @rack2; repeatable")
            ->type_name("NODES")
            ->allow_extra_args(false);
        add_former_name(*command, "--host", "--node", options->nodes, program);
        if (work != DataWork::look) {
            command->add_flag(
                "--stop-jobs", options->stop_jobs,
                "Where files are removed: stop the jobs that run there first; without this they are "
                "named, and nothing is done");
        }
        command->callback([options, work, &program] {
            program.one_value = work == DataWork::look;
            program.work = [options, work](Context& context) {
                return run_data_command(context, work, *options);
            };
        });
        command->fallthrough();
    };
    add(DataWork::push, "push",
        "Copy it to every host, from host to host, only what differs; one that was interrupted resumes where "
        "it stopped");
    add(DataWork::look, "ls", "Show what each host has; exit code 1 unless every host has all of it");
    add(DataWork::remove, "rm", "Remove from the hosts what `from` has, by name, and partial copies of it");
}

} // namespace dockdist

#include "client/async/async_event.hpp"
#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/cli/context.hpp"
#include "client/cli/host_answers.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/job/gpu_table.hpp"
#include "client/report/display_text.hpp"
#include "client/report/live_region.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <unistd.h>

namespace dockdist {
namespace {

using Reports = std::vector<Result<wire::GpuReport>>;

constexpr auto between_tables = std::chrono::seconds(1);
constexpr auto between_visits = std::chrono::seconds(2); // of a node that is not reached

nlohmann::json unit_json(const wire::GpuFacts& facts) {
    nlohmann::json json(facts.unit);
    const auto put = [&](const char* key, const std::optional<double>& figure) {
        json[key] = figure ? nlohmann::json(*figure) : nlohmann::json();
    };
    put("memory_used_mib", facts.memory_used_mib);
    put("memory_total_mib", facts.memory_total_mib);
    put("utilization_percent", facts.utilization_percent);
    put("temperature_c", facts.temperature_c);
    put("power_w", facts.power_w);
    json["problem"] = facts.problem;
    json["held"] = nullptr;
    if (facts.hold) {
        json["held"] = facts.hold->by;
        json["held"]["outside"] = facts.hold->outside;
    }
    return json;
}

nlohmann::json hosts_json(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names) {
    auto all = nlohmann::json::array();
    for (const auto& host : hosts) {
        nlohmann::json json{{"host", names.at(host.host)},
                            {"gpus", nlohmann::json::array()},
                            {"waiting", nlohmann::json::array()},
                            {"problems", host.problems}};
        for (const auto& unit : host.units) {
            json["gpus"].push_back(unit_json(unit));
        }
        for (const auto& waiter : host.line) {
            nlohmann::json entry(waiter.who);
            entry["wanted"] = waiter.wanted;
            entry["priority"] = waiter.priority;
            json["waiting"].push_back(std::move(entry));
        }
        all.push_back(std::move(json));
    }
    return {{"hosts", std::move(all)}};
}

void show(const Context& context, const std::vector<HostGpus>& hosts, const std::vector<std::string>& names,
          bool all) {
    if (context.json()) {
        context.print_json(hosts_json(hosts, names));
    } else {
        context.show(gpus_text(hosts, names, context.output(), context.table_rows(all)));
    }
}

// The table as it is now, until Ctrl-C: drawn over itself on a terminal, else one below the other.
class GpuWatch {
public:
    GpuWatch(Context& context, Attached& cluster, bool all)
        : context_(context), cluster_(cluster), all_(all), names_(host_names(cluster.spec)),
          changed_(context.executor), reports_(cluster.nodes.size(), Result<wire::GpuReport>(Error{})) {}

    Task<void> run() {
        std::vector<Task<Status>> tasks;
        for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
            tasks.push_back(follow(i));
        }
        tasks.push_back(show_changes());
        co_await run_all(std::move(tasks));
    }

private:
    Task<Status> follow(std::size_t index) {
        const auto& node = cluster_.nodes[index];
        while (true) {
            auto ended =
                co_await follow_gpus(*cluster_.engines[node.host], node, gpu_in_use_mib(cluster_.spec),
                                     [this, index](wire::GpuReport report) {
                                         reports_[index] = std::move(report);
                                         changed_.set();
                                     });
            ended.where = node.name.str();
            if (!draws_over() && (reports_[index] || reports_[index].error() != ended)) { // not at each visit
                context_.reporter->on(warning_event(ended));
            }
            reports_[index] = std::move(ended);
            changed_.set();
            co_await pause_for(between_visits);
        }
    }

    Task<Status> show_changes() {
        while (true) {
            co_await changed_.wait();
            changed_.reset();
            draw(gpus_by_host(cluster_.nodes, reports_));
            co_await pause_for(between_tables);
        }
    }

    bool draws_over() const { return !context_.json() && probe_output(STDOUT_FILENO).tty; }

    void draw(const std::vector<HostGpus>& hosts) {
        if (!draws_over()) {
            return show(context_, hosts, names_, all_);
        }
        auto traits = context_.output();
        const auto size = terminal_size(STDOUT_FILENO);
        --traits.columns; // the region keeps the last one free
        auto lines = split(gpus_text(hosts, names_, traits, context_.table_rows(all_)), '\n');
        lines.pop_back(); // behind the last line's end
        for (const auto& report : reports_) {
            if (!report && !report.error().message.empty()) {
                lines.push_back(safe_cell(report.error().where + ": " + report.error().message));
            }
        }
        const auto most = LiveRegion::max_lines(size);
        if (lines.size() > most) {
            lines.resize(most - 1);
            lines.emplace_back("(more than this terminal has lines)");
        }
        FdSink().write(STDOUT_FILENO, Displayable::drawn(region_.draw(lines, size, traits.unicode)));
    }

    Context& context_;
    Attached& cluster_;
    bool all_;
    std::vector<std::string> names_;
    AsyncEvent changed_;
    Reports reports_; // of each node; an error, at first an empty one: it has none
    LiveRegion region_{};
};

struct GpusOptions {
    bool watch = false;
    bool all = false;
};

Task<int> run_gpus(Context& context, GpusOptions options) {
    auto cluster = co_await attach_to_cluster(context, {.looks = true});
    auto errors = std::move(cluster.errors);
    const auto without_nodes = options.watch ? std::vector<std::size_t>() : hosts_without_nodes(cluster);
    if (cluster.nodes.empty() && without_nodes.empty()) {
        co_return context.fail(errors);
    }
    if (options.watch) {
        context.fail(errors); // told once, of the nodes that are not there
        GpuWatch gpus(context, cluster, options.all);
        co_await until_interrupt(context, gpus.run());
        co_return 0; // Ctrl-C is how it ends
    }
    const auto reports =
        co_await ask_gpus(cluster.engines, cluster.nodes, gpu_in_use_mib(cluster.spec), context.reporter);
    for (const auto& report : reports) {
        if (!report) {
            errors.push_back(report.error());
        }
    }
    auto hosts = gpus_by_host(cluster.nodes, reports);
    if (!without_nodes.empty()) {
        forget_nodes(cluster, errors, Forget::missing);
        auto answers = co_await ask_hosts_of(context, cluster, without_nodes, false);
        std::ranges::move(answers.hosts, std::back_inserter(hosts));
        std::ranges::move(answers.errors, std::back_inserter(errors));
        std::ranges::sort(hosts, {}, &HostGpus::host);
    }
    show(context, hosts, host_names(cluster.spec), options.all);
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_gpus(CLI::App& app, Program& program) {
    auto options = std::make_shared<GpusOptions>();
    auto* command = describe(
        app.add_subcommand("gpus", "Show every host's GPUs: how busy, who has which since when, and who "
                                   "waits for one"),
        command_group::looking, {"dockdist gpus", "dockdist gpus --watch"});
    command->add_flag("--watch", options->watch, "Show it again whenever something changes, until Ctrl-C");
    command->add_flag("--all", options->all, "A row for every GPU, even where many are alike");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_gpus(context, *options); };
    });
}

} // namespace dockdist

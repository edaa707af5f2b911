#include "client/cluster/up.hpp"

#include "client/check/check.hpp"
#include "client/cli/ask_yes.hpp"
#include "client/cli/cluster/check_summary.hpp"
#include "client/cli/context.hpp"
#include "client/cli/files/set_up_nodes.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/node_json.hpp"
#include "client/cli/nodes/own_ssh.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/random.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>

namespace dockdist {
namespace {

struct UpArguments {
    UpOptions up{};
    std::string ready_timeout = "60s";
    bool no_check = false;
    bool no_sync = false;
    bool no_setup = false;
    bool build = false;
    bool yes = false;
};

// Before the check, which is not what --timings is about.
std::vector<int> round_trips(const Connected& cluster) {
    std::vector<int> trips;
    std::ranges::transform(cluster.engines, std::back_inserter(trips),
                           [](const auto& engine) { return engine->round_trips(); });
    return trips;
}

nlohmann::json timings_json(const UpResult& result, const Connected& cluster, const std::vector<int>& trips) {
    nlohmann::json json{{"phases", nlohmann::json::array()}, {"round_trips", nlohmann::json::object()}};
    for (const auto& phase : result.timings) {
        json["phases"].push_back({{"phase", phase.phase},
                                  {"ms", phase.elapsed.count()},
                                  {"slowest", phase.slowest},
                                  {"slowest_ms", phase.slowest_elapsed.count()}});
    }
    for (std::size_t i = 0; i < trips.size(); ++i) {
        json["round_trips"][cluster.engines[i]->host().str()] = trips[i];
    }
    return json;
}

std::string timings_text(const UpResult& result, const Connected& cluster, const std::vector<int>& trips) {
    std::string text;
    for (const auto& phase : result.timings) {
        text += fmt::format("{:<8} {:>8}{}\n", phase.phase, format_duration(phase.elapsed),
                            phase.slowest.empty() ? ""
                                                  : fmt::format("   slowest {} {}", phase.slowest,
                                                                format_duration(phase.slowest_elapsed)));
    }
    for (std::size_t i = 0; i < trips.size(); ++i) {
        text += fmt::format("{:<8} {:>4} round trips\n", cluster.engines[i]->host().str(), trips[i]);
    }
    return text;
}

void print_result(const Context& context, const UpResult& result, const Connected& cluster,
                  const std::vector<int>& trips, const std::optional<CheckReport>& check) {
    if (context.json()) {
        nlohmann::json json{{"type", "result"},
                            {"cluster", cluster.spec.name.str()},
                            {"changed", result.changed},
                            {"nodes", nlohmann::json::array()}};
        for (const auto& node : result.nodes) {
            json["nodes"].push_back(node_json(node, cluster.spec));
        }
        for (const auto& error : result.missing) {
            json["missing"].push_back(
                {{"where", error.where}, {"message", error.message}, {"hint", error.hint}});
        }
        if (check) {
            json["check"] = check_json(*check);
        }
        if (context.options.timings) {
            json["timings"] = timings_json(result, cluster, trips);
        }
        context.print_json(json);
        return;
    }
    int slots = 0;
    for (const auto& node : result.nodes) {
        slots += node.record.slots;
    }
    const auto of_all = result.missing.empty() ? "" : fmt::format(" of {}", context.size->nodes);
    context.tell(fmt::format("{} {}: {}{} node{}, {}\n", cluster.spec.name.str(),
                             result.changed ? "is up" : "is up already", result.nodes.size(), of_all,
                             result.nodes.size() == 1 && of_all.empty() ? "" : "s", counted(slots, "slot")));
    if (context.options.timings) {
        context.tell(timings_text(result, cluster, trips));
    }
}

void tell_missing(const Context& context, const ClusterSpec& spec, const UpResult& result) {
    if (result.missing.empty()) {
        return;
    }
    context.warn(result.missing);
    std::set<NodeName> there;
    std::ranges::transform(result.nodes, std::inserter(there, there.end()), &ReadyNode::name);
    std::vector<std::string> missing;
    for (const auto& node : expand_nodes(spec)) {
        if (!there.contains(node.name)) {
            missing.push_back(node.name.str());
        }
    }
    context.reporter->on({.kind = Event::Kind::note,
                          .text = fmt::format("{} of {} nodes left out: {}; `dockdist up` adds them "
                                              "when they are available",
                                              missing.size(), context.size->nodes, list_names(missing))});
}

CheckSelection there(const ClusterSpec& spec, const UpResult& result) {
    if (result.missing.empty()) {
        return all_for_check(spec);
    }
    std::string names;
    for (const auto& node : result.nodes) {
        names += (names.empty() ? "" : ",") + node.name.str();
    }
    return *select_for_check(spec, {names});
}

// What `up` made is up, whatever is found here: a warning is no reason to take it back.
Task<CheckReport> check_after_up(const Connected& cluster, const UpResult& result, Reporter& reporter) {
    reporter.on({.kind = Event::Kind::phase_started, .phase = "check"});
    const auto begin = std::chrono::steady_clock::now();
    QuietReporter quiet(reporter);
    auto report =
        co_await check_cluster(cluster.spec, cluster.engines, there(cluster.spec, result), {}, quiet);
    reporter.on({.kind = Event::Kind::phase_finished,
                 .phase = "check",
                 .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::steady_clock::now() - begin)});
    for (const auto& event : check_remarks(report, result.warnings)) {
        reporter.on(event);
    }
    co_return report;
}

// Where jobs run on nodes that have to be made anew, whoever sits there is asked; once more where, after the
// answer, others run.
Task<UpResult> up_or_ask(Context& context, const Connected& cluster, UpOptions& options) {
    std::set<std::string> agreed; // jobs, and nodes that do not say what runs there
    while (true) {
        auto result = co_await up(cluster.spec, cluster.engines, toolkits(), options, *context.reporter);
        if (!result.jobs_in_way || options.stop_jobs || !can_ask(context)) {
            co_return result;
        }
        options.attempt = random_hex(8);
        if (std::ranges::all_of(result.errors, [&](const Error& e) { return agreed.contains(e.where); })) {
            options.stop_jobs = true;
            continue;
        }
        for (auto error : result.errors) {
            error.hint.clear();
            context.warn({error});
        }
        if (!co_await ask_yes(context, "Stop what runs there, and go on?")) {
            result.errors = {
                {result.errors.front().kind, "", "nothing was changed: these jobs are running", ""}};
            co_return result;
        }
        std::ranges::transform(result.errors, std::inserter(agreed, agreed.end()), &Error::where);
    }
}

Task<int> run_up(Context& context, UpArguments options) {
    auto cluster = co_await connect(context, Secrets::all);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    options.up.ready_timeout = parse_duration(options.ready_timeout).value_or(options.up.ready_timeout);
    options.up.origin = origin_of(cluster.spec);
    options.up.take_over = context.options.take_over;
    options.up.attempt = random_hex(8);
    if (options.build && !cluster.spec.image.build) {
        co_return context.fail(no_build_in_file(cluster.spec));
    }
    options.up.image_source =
        image_source_of(context, cluster, options.build ? Build::anew : Build::if_missing);
    options.up.registry_auth = registry_auth_of(context, cluster.spec.image.ref);
    options.up.stop_jobs = options.up.stop_jobs || options.yes;
    options.up.release = DOCKDIST_VERSION;
    options.up.comes_again = sent_by_sync(context, cluster.spec);
    options.up.may_lose = [&context, yes = options.yes](Errors losses) -> Task<bool> {
        context.warn(losses);
        co_return yes || !can_ask(context) || co_await ask_yes(context, "Lose these files, and go on?");
    };
    const auto result = co_await up_or_ask(context, cluster, options.up);
    if (!result.errors.empty()) {
        context.reporter->finish();
        co_return context.fail(result.errors);
    }
    tell_missing(context, cluster.spec, result);
    renew_installed_entries(context, cluster.spec, result.nodes);
    const auto trips = round_trips(cluster);
    auto not_ready = co_await sync_first(context, cluster.spec, cluster.engines, result.nodes,
                                         {.no_sync = options.no_sync});
    if (not_ready.empty()) {
        const auto setup = co_await set_up_nodes(context, cluster.spec, cluster.engines, result.nodes,
                                                 {.skip = options.no_setup});
        not_ready = setup.errors;
    }
    std::optional<CheckReport> check;
    if (result.changed && !options.no_check) {
        check = co_await check_after_up(cluster, result, *context.reporter);
    }
    context.reporter->finish();
    print_result(context, result, cluster, trips, check);
    co_return not_ready.empty() ? 0 : context.fail(not_ready);
}

} // namespace

void add_up(CLI::App& app, Program& program) {
    auto options = std::make_shared<UpArguments>();
    auto* command = describe(
        app.add_subcommand("up", "Turn the hosts into one cluster: create, start and join every node"),
        command_group::cluster,
        {"dockdist up", "dockdist up --keep-going      # without the hosts that fail",
         "dockdist up --stop-jobs       # end jobs on nodes that are recreated"});
    command->add_flag("--build", options->build, "Build the image again, as `image.build` says");
    command->add_flag("--keep", options->up.keep,
                      "When something fails, keep what was created, to look at it");
    command->add_flag("--keep-going", options->up.keep_going,
                      "Go on without the hosts that fail, as long as one is left, and say which are missing; "
                      "`min_nodes` in the file does so down to that number");
    command->add_flag("--stop-jobs", options->up.stop_jobs,
                      "Stop the jobs that run on nodes that have to be recreated; without this they are "
                      "listed, and nothing is done");
    command->add_flag("-y,--yes", options->yes,
                      "Answer yes to what is asked on a terminal: whether to end "
                      "those jobs, and to lose files that are on no mount");
    command->add_flag("--break-lock", options->up.break_lock,
                      "Go on even if somebody else is changing the cluster");
    duration(command->add_option("--ready-timeout", options->ready_timeout,
                                 "How long nodes may take to reach each other"))
        ->capture_default_str();
    command->add_flag("--no-check", options->no_check,
                      "Skip the quick check of what was created (`dockdist check` runs it at any time)");
    command->add_flag("--no-sync", options->no_sync, "Skip `sync` in the file");
    command->add_flag("--no-setup", options->no_setup, "Skip `setup` in the file");
    command->add_flag("--timings", program.options.timings,
                      "Show the time of each phase and the round trips to each host");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_up(context, *options); };
    });
}

} // namespace dockdist

#include "client/cli/context.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/jobs/job_page.hpp"
#include "client/cli/jobs/job_view.hpp"
#include "client/cli/jobs/prepared_run.hpp"
#include "client/cli/jobs/rdma_required.hpp"
#include "client/cli/jobs/run_nodes.hpp"
#include "client/cli/key_watch.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/forwarding.hpp"
#include "client/cli/report_file.hpp"
#include "client/job/run_job.hpp"
#include "client/job/wait_for_gpus.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t names_in_a_note = 100; // columns

// A name may have been used before.
Task<Status> take_name(PreparedRun& prepared, const std::string& name, const Attached& cluster,
                       Reporter& reporter) {
    if (name.empty()) {
        co_return ok;
    }
    const auto list = co_await list_jobs(cluster.engines, cluster.nodes, &reporter, {.name = name});
    const auto job = next_run(list.jobs, name);
    CO_TRY(job);
    prepared.job.job = *job;
    prepared.request.job = *job;
    co_return ok;
}

// "4 ranks on 2 nodes"; of a command that is no rank "1 process on each of 2 nodes, 2 GPUs each".
std::string describe_ranks(const Decided& decided) {
    const auto& launches = decided.launches;
    std::size_t ranks = 0;
    for (const auto& launch : launches) {
        ranks +=
            static_cast<std::size_t>(launch.hosts_remote_ranks ? launch.ranks : std::max(launch.ranks, 1));
    }
    const bool once_a_node =
        std::ranges::all_of(launches, [](const NodeLaunch& launch) { return launch.ranks == 0; });
    if (!once_a_node) {
        return fmt::format("{} on {}", counted(ranks, "rank"), counted(launches.size(), "node"));
    }
    const auto gpus = gpus_of_each_text(turns_of(decided.opened));
    return launches.size() == 1 ? "1 process on 1 node" + (gpus.empty() ? "" : ", " + gpus)
                                : fmt::format("1 process on each of {} nodes{}", launches.size(),
                                              gpus.empty() ? "" : ", " + gpus + " each");
}

// "job-1a2b3c4d: 4 ranks on 2 nodes; spare: node-2; GPUs 0,1 (NVLink) on node-0, node-1, node-2".
std::string describe(const Decided& decided, const PreparedRun& prepared) {
    const auto& launches = decided.launches;
    std::vector<std::string> spares;
    for (std::size_t i = launches.size(); i < prepared.nodes.size(); ++i) {
        spares.push_back(prepared.nodes[i].name.str());
    }
    const auto gpus = taken_text(turns_of(decided.opened));
    std::vector<std::string> names; // of slots nothing is said, but where they are
    for (std::size_t i = 0; decided.chosen && gpus.empty() && i < launches.size(); ++i) {
        names.push_back(prepared.nodes[i].name.str());
    }
    return fmt::format("{}: {}{}{}{}", prepared.job.job.str(), describe_ranks(decided),
                       names.empty() ? "" : ": " + short_host_list(names, names_in_a_note),
                       spares.empty() ? "" : "; spare: " + list_names(spares),
                       gpus.empty() ? "" : "; " + gpus);
}

void warn_of_instances(const Context& context, const Decided& decided) {
    for (const auto& node : turns_of(decided.opened)) {
        const auto launch = std::ranges::find(decided.launches, node.node, &NodeLaunch::node);
        if (launch != decided.launches.end()) {
            if (const auto warning = shared_instance(node, launch->ranks)) {
                context.reporter->on(warning_event(*warning));
            }
        }
    }
}

// What the job has to itself, for programs.
void print_units(const Context& context, const Decided& decided, const JobId& job) {
    auto nodes = nlohmann::json::array();
    for (const auto& [node, turn] : turns_of(decided.opened)) {
        nodes.push_back({{"node", node.str()}, {"units", turn.units}, {"together", turn.together}});
    }
    context.print_json({{"type", "gpus"}, {"job", job.str()}, {"nodes", std::move(nodes)}});
}

// wire::command_ranks(), before there is a policy.
std::map<std::string, int> command_ranks(const std::vector<NodeLaunch>& launches) {
    std::map<std::string, int> ranks;
    for (const auto& launch : launches) {
        if (launch.ranks > 0 || launch.hosts_remote_ranks) {
            return {};
        }
        ranks[launch.node.str()] = launch.first_rank;
    }
    return ranks;
}

Task<JobOutcome> run_in_view(Context& context, JobView& view, Decided decided, const JobOptions& job) {
    view.number_commands(command_ranks(decided.launches));
    for (const auto& launch : decided.launches) {
        for (int i = 0; i < launch.ranks; ++i) {
            view.expect(launch.node, launch.first_rank + i);
        }
        if (launch.ranks == 0) {
            view.expect(launch.node, -1);
        }
    }
    auto outcome = co_await run_job(std::move(decided.opened), std::move(decided.launches), job,
                                    *context.interrupts, view, *context.reporter);
    view.finish();
    co_return outcome;
}

// A command that no launcher starts is a rank itself.
nlohmann::json to_json(const NodeLaunch& launch) {
    return {{"node", launch.node.str()},
            {"ranks", launch.hosts_remote_ranks ? launch.ranks : std::max(launch.ranks, 1)},
            {"first_rank", launch.first_rank},
            {"env", launch.start.env},
            {"env_defaults", launch.start.env_defaults},
            {"files", launch.start.files},
            {"argv", launch.start.argv},
            {"rank_command", launch.start.rank_command},
            {"local_rank_at", launch.start.local_rank_at},
            {"local_rank_option", launch.start.local_rank_option},
            {"rank_env", launch.start.rank_env}};
}

// Secrets are named, never shown.
void print_launches(const Context& context, const PreparedRun& prepared,
                    const std::vector<NodeLaunch>& launches) {
    const auto& job = prepared.job;
    if (context.json()) {
        nlohmann::json nodes = nlohmann::json::array();
        for (const auto& launch : launches) {
            nodes.push_back(to_json(launch));
        }
        nlohmann::json secrets = nlohmann::json::array();
        for (const auto& [name, value] : job.secrets) {
            secrets.push_back(name);
        }
        context.print_json(
            {{"launcher", prepared.launcher.name}, {"env", job.env}, {"secrets", secrets}, {"nodes", nodes}});
        return;
    }
    std::string text;
    if (!job.env.empty() || !job.secrets.empty()) {
        text += "every process:\n";
    }
    for (const auto& [name, value] : job.env) {
        text += "  " + name + "=" + shell_quote(value) + "\n";
    }
    for (const auto& [name, value] : job.secrets) {
        text += "  " + name + " (a secret)\n";
    }
    context.print(text + to_text(launches));
}

// A batch job is over with what it runs.
Status judge_in_batch(const RunOptions& options, const ClusterSpec& spec) {
    if (options.detach || options.dry_run) {
        return Error{ErrorKind::usage, options.detach ? "--detach" : "--dry-run",
                     "a batch job ends with its `run`, and leaves nothing running", "leave it out"};
    }
    if (const auto ports = parse_forward_ports(options.forward, "--forward"); !ports.errors.empty()) {
        return ports.errors.front();
    }
    const auto prepared = judge_run(options, spec);
    return prepared ? Status(ok) : prepared.error();
}

Task<int> run(Context& context, RunOptions options) {
    const auto forwarded = parse_forward_ports(options.forward, "--forward");
    if (!forwarded.errors.empty()) {
        co_return fail_before(context, forwarded.errors);
    }
    Result<PreparedRun> prepared = PreparedRun{};
    const auto judge_line = [&](const ClusterSpec& spec) {
        prepared = judge_run(options, spec);
        return prepared ? Status(ok) : prepared.error();
    };
    auto cluster = co_await attach_to_cluster(context, {.secrets = Secrets::resolve,
                                                        .named = named_by(options),
                                                        .excluded = excluded_by(options),
                                                        .judge = judge_line,
                                                        .keep_going = options.keep_going});
    if (!cluster.nodes.empty()) {
        cluster.errors = judge_missing(context, cluster, options, prepared->spares);
    }
    if (!cluster.errors.empty()) {
        co_return fail_before(context, cluster.errors);
    }
    if (!options.page.empty() && !options.dry_run) {
        if (const auto writable = report_file(options.page).check(); !writable) {
            co_return fail_before(context, {writable.error()});
        }
    }
    const auto choice = choose_nodes(*prepared, options, cluster, context);
    if (!choice) {
        co_return fail_before(context, {choice.error()});
    }
    if (const auto named = co_await take_name(*prepared, options.name, cluster, *context.reporter); !named) {
        co_return fail_before(context, {named.error()});
    }
    auto local =
        take_local_ports(context.executor, options.dry_run ? std::vector<ForwardPort>{} : forwarded.ports);
    if (!local.errors.empty()) {
        co_return fail_before(context, local.errors);
    }
    options.carry.no_sync |= options.dry_run;
    const SyncTo sync = [&](std::vector<ReadyNode> nodes) {
        return sync_first(context, cluster.spec, cluster.engines, std::move(nodes), options.carry);
    };
    auto decided = co_await decide(context, cluster, *prepared, *choice, sync);
    if (!decided.errors.empty()) {
        co_return fail_before(context, decided.errors);
    }
    for (const auto& warning : decided.warnings) {
        context.reporter->on(warning_event(warning));
    }
    if (const auto warning = unwatched(options.idle, cluster.spec.idle, options.share)) {
        context.reporter->on(warning_event(*warning));
    }
    if (options.dry_run) {
        print_launches(context, *prepared, decided.launches);
        co_return 0;
    }
    const auto& job = prepared->job;
    auto view = JobView::create(context, options.view, job.job);
    if (!view) {
        co_return fail_before(context, {view.error()});
    }
    if (const auto waited = co_await wait_for_gpus(decided.opened, job, *context.reporter); !waited) {
        co_return fail_before(context, {waited.error()});
    }
    if (const auto moved = co_await decide_again(cluster, *prepared, decided, sync); !moved.empty()) {
        co_return fail_before(context, moved);
    }
    warn_of_instances(context, decided);
    if (context.json()) {
        print_units(context, decided, job.job);
    }
    if (options.detach_on_hangup) {
        context.interrupts->let_go_on_hangup();
    }
    std::optional<KeyWatch> key;
    if (!context.json()) {
        key.emplace(
            context.executor, 'd',
            [&context] {
                context.reporter->on(
                    {.kind = Event::Kind::note, .text = "Enter leaves the job to the cluster"});
            },
            [&context] { context.interrupts->let_go(); });
    }
    const bool has_key = key && key->watches() && !job.detach;
    context.reporter->on(
        {.kind = Event::Kind::note,
         .text = describe(decided, *prepared) + (has_key ? " (d and Enter: leave it to the cluster)" : "")});
    ForwardingBeside forwarding(context,
                                local.ports.empty()
                                    ? nullptr
                                    : make_forwarder(context, cluster.spec, cluster.engines,
                                                     prepared->nodes.front(), std::move(local.ports)),
                                [&](const auto& line) { (*view)->tell_json(line); });
    prepared->job.on_first_node = [&](const NodeName& name) {
        const auto node = std::ranges::find(prepared->nodes, name, &ReadyNode::name);
        forwarding.lead_to(forward_goal(context, cluster.spec, cluster.engines, *node));
    };
    const auto begin = std::chrono::steady_clock::now();
    auto outcome = co_await forwarding.during(run_in_view(context, **view, std::move(decided), job));
    const auto ran =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    outcome.collected = co_await collect_after(context, cluster, outcome, job.job, options.carry);
    if (!options.page.empty() && outcome.detached) {
        const auto later =
            fmt::format("{} is not written: `dockdist jobs {} --report {}` writes it when the job has ended",
                        options.page, job.job.str(), shell_quote(options.page));
        context.reporter->on({.kind = Event::Kind::note, .text = later});
    } else if (!options.page.empty()) {
        const auto written =
            co_await write_page_of_ended(context, cluster, prepared->nodes, job.job, options.page);
        if (!written) {
            outcome.errors.push_back(written.error());
        }
    }
    if (outcome.first_failure && !options.carry.no_sync) {
        explain_left_out(cluster.spec, job.workdir, *outcome.first_failure);
    }
    co_return tell_end(context, outcome, job.job, ran);
}

} // namespace

void add_run(CLI::App& app, Program& program) {
    auto options = std::make_shared<RunOptions>();
    auto* command = describe(
        app.add_subcommand("run", "Run a job over the nodes: its output in one place, and its own exit code"),
        command_group::jobs,
        {"dockdist run -- train.py --epochs 3",
         "dockdist run --nodes 4 --gpus 2 --launcher torchrun -- train.py",
         "dockdist run --detach --name night -- ./train.sh",
         "dockdist run --env LR=0.1 --timeout 8h -- train.py"});
    add_run_options(*command, *options);
    command->callback([options, &program] {
        program.one_value = options->dry_run;
        program.work = [options](Context& context) { return run(context, *options); };
        program.judge_in_batch = [options](const ClusterSpec& spec) {
            return judge_in_batch(*options, spec);
        };
    });
}

} // namespace dockdist

#include "cli/context.hpp"
#include "cli/job_end.hpp"
#include "cli/job_view.hpp"
#include "cli/key_watch.hpp"
#include "cli/own_variables.hpp"
#include "cli/restart_options.hpp"
#include "cli/sync_and_collect.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "job/old_nodes.hpp"
#include "job/run_job.hpp"
#include "job/select_nodes.hpp"
#include "launch/relaunch.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

struct RunOptions {
    std::string nodes{};
    std::string exclude{};
    std::optional<int> gpus{};
    std::string launcher{};
    std::string via{};
    std::vector<std::string> launcher_args{};
    bool per_rank = false;
    bool dry_run = false;
    std::vector<std::string> env{};
    std::string workdir{};
    std::string grace = flag_duration(wire::default_grace);
    std::string lease = flag_duration(wire::default_lease);
    RestartOptions restarts{};
    std::string backoff = flag_duration(wire::default_backoff);
    std::string stall{};
    std::string on_stall = "report";
    bool detach = false;
    bool detach_on_hangup = false;
    std::string name{};
    std::string timeout{};
    std::string log_limit = "1g";
    JobViewOptions view{};
    SyncAndCollectOptions carry{};
    std::vector<std::string> command{};
};

Result<std::chrono::milliseconds> duration_above_zero(const char* option, const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration || duration->count() == 0) {
        return Error{ErrorKind::usage, option, "`" + printable(text) + "` is not a duration above zero",
                     "write it like 10s or 2m"};
    }
    return *duration;
}

Result<JobOptions> job_options(const RunOptions& options, const ClusterSpec& spec) {
    JobOptions job{.job = JobId(options.name.empty() ? "job-" + random_hex(8) : options.name),
                   .user = spec.container.user,
                   .workdir = options.workdir.empty() ? spec.container.workdir : options.workdir};
    if (!wire::is_job_id(job.job.str())) {
        return Error{ErrorKind::usage, "--name", "`" + printable(options.name) + "` is not a job's name",
                     "write 1 to 64 letters, digits, '-', '_' or '.', and no '.' first"};
    }
    const auto grace = parse_duration(options.grace);
    if (!grace) {
        return Error{ErrorKind::usage, "--grace", "`" + printable(options.grace) + "` is not a duration",
                     "write it like 10s or 2m"};
    }
    job.grace = *grace;
    const auto lease = duration_above_zero("--lease", options.lease);
    if (!lease) {
        return lease.error();
    }
    job.lease = *lease;
    const auto backoff = duration_above_zero("--backoff", options.backoff);
    if (!backoff) {
        return backoff.error();
    }
    job.backoff = *backoff;
    job.detach = options.detach;
    if (!options.timeout.empty()) {
        const auto timeout = duration_above_zero("--timeout", options.timeout);
        if (!timeout) {
            return timeout.error();
        }
        job.timeout = *timeout;
    }
    if (!options.stall.empty()) {
        const auto stall = duration_above_zero("--stall", options.stall);
        if (!stall) {
            return stall.error();
        }
        job.stall = *stall;
        job.stop_stalled = options.on_stall == "stop";
    }
    const auto limit = parse_size(options.log_limit);
    if (!limit || limit->count < static_cast<std::uint64_t>(wire::least_log_limit)) {
        return Error{ErrorKind::usage, "--log-limit",
                     "`" + printable(options.log_limit) + "` is not a size of 1m or more",
                     "write it like 512m or 4g"};
    }
    job.log_limit = *limit;
    return job;
}

struct Prepared {
    Launcher launcher{};
    JobOptions job{};
    std::vector<ReadyNode> nodes{}; // the last ones are spare
    std::size_t spares = 0;
    LaunchRequest request{}; // over those that are not, once launches are decided
};

// Everything that can be wrong with the command line, before any node is asked.
Result<Prepared> prepare(const RunOptions& options, const Attached& cluster) {
    const auto name = options.launcher.empty() ? cluster.spec.launcher : options.launcher;
    const auto launcher = find_launcher(name.empty() ? "plain" : name);
    if (!launcher) {
        return launcher.error();
    }
    const int spares = options.restarts.spares.value_or(cluster.spec.spares);
    auto nodes =
        select_nodes(cluster.nodes, options.nodes, options.exclude, static_cast<std::size_t>(spares));
    if (!nodes) {
        return nodes.error();
    }
    auto env = own_variables(options.env);
    if (!env) {
        return env.error();
    }
    auto settings = job_options(options, cluster.spec);
    if (!settings) {
        return settings.error();
    }
    if (auto set = set_restarts(options.restarts, static_cast<int>(nodes->size()), spares, *settings); !set) {
        return set.error();
    }
    for (const auto& secret : cluster.spec.container.secrets) {
        if (!env->contains(secret.name)) {
            settings->secrets[secret.name] = secret.value;
        }
    }
    settings->env = std::move(*env);
    LaunchRequest request{.job = settings->job,
                          .command = options.command,
                          .ranks_per_node = options.gpus,
                          .per_rank = options.per_rank,
                          .via = options.via,
                          .options = options.launcher_args,
                          .secret =
                              options.dry_run ? "(a secret of each launch)" : random_hex(secret_digits)};
    for (const auto& node : *nodes) {
        const auto& record = node.record;
        request.nodes.push_back({node.name, record.address, record.interface, record.slots, record.gpus, {}});
    }
    if (auto checked = check_request(*launcher, request); !checked) {
        return checked.error();
    }
    return Prepared{*launcher, std::move(*settings), std::move(*nodes), static_cast<std::size_t>(spares),
                    std::move(request)};
}

struct Decided {
    OpenedJob opened{};
    std::vector<NodeLaunch> launches{};
    std::optional<Error> warning{};
    Errors errors{};
};

// What each node has to start, from what the nodes say.
Task<Decided> decide(const Attached& cluster, Prepared& prepared) {
    Decided decided;
    prepared.job.old_holds = co_await held_in_old_nodes(cluster.engines, cluster.observed);
    decided.opened =
        co_await open_job(cluster.engines, prepared.nodes, prepared.job,
                          questions(prepared.launcher, prepared.request), prepared.launcher.ports);
    decided.errors = decided.opened.errors;
    if (decided.errors.empty()) {
        decided.errors = take_answers(prepared.launcher, prepared.request, decided.opened.facts);
    }
    if (decided.errors.empty()) {
        auto& nodes = prepared.request.nodes;
        if (prepared.job.min_nodes > 0) {
            prepared.job.relaunch = relaunch_text(prepared.launcher, prepared.request);
        }
        nodes.resize(nodes.size() - prepared.spares);
        if (prepared.launcher.warning != nullptr) {
            decided.warning = prepared.launcher.warning(prepared.request);
        }
        auto launches = prepared.launcher.launch(prepared.request);
        if (launches) {
            decided.launches = std::move(*launches);
        } else {
            decided.errors.push_back(launches.error());
        }
    }
    co_return decided;
}

// "job-1a2b3c4d: 4 ranks on 2 nodes; spare: node-2".
std::string describe(const std::vector<NodeLaunch>& launches, const Prepared& prepared) {
    int ranks = 0;
    for (const auto& launch : launches) {
        ranks += launch.hosts_remote_ranks ? launch.ranks : std::max(launch.ranks, 1);
    }
    std::string spares;
    for (std::size_t i = launches.size(); i < prepared.nodes.size(); ++i) {
        spares += (spares.empty() ? "; spare: " : ", ") + prepared.nodes[i].name.str();
    }
    return fmt::format("{}: {} rank{} on {} node{}{}", prepared.job.job.str(), ranks, ranks == 1 ? "" : "s",
                       launches.size(), launches.size() == 1 ? "" : "s", spares);
}

Task<JobOutcome> run_in_view(Context& context, JobView& view, Decided decided, const JobOptions& job) {
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

nlohmann::json to_json(const NodeLaunch& launch) {
    return {{"node", launch.node.str()},
            {"ranks", launch.ranks},
            {"first_rank", launch.first_rank},
            {"env", launch.start.env},
            {"files", launch.start.files},
            {"argv", launch.start.argv},
            {"rank_command", launch.start.rank_command},
            {"local_rank_at", launch.start.local_rank_at}};
}

// Secrets are named, never shown.
void print_launches(const Context& context, const Prepared& prepared,
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

Task<int> run(Context& context, RunOptions options) {
    auto cluster = co_await attach_to_cluster(context, Secrets::resolve);
    if (!cluster.errors.empty()) {
        co_return fail_before(context, cluster.errors);
    }
    auto prepared = prepare(options, cluster);
    if (!prepared) {
        co_return fail_before(context, {prepared.error()});
    }
    options.carry.no_sync |= options.dry_run;
    const auto errors =
        co_await sync_first(context, cluster.spec, cluster.engines, prepared->nodes, options.carry);
    if (!errors.empty()) {
        co_return fail_before(context, errors);
    }
    auto decided = co_await decide(cluster, *prepared);
    if (!decided.errors.empty()) {
        co_return fail_before(context, decided.errors);
    }
    if (decided.warning) {
        context.reporter->on(warning_event(*decided.warning));
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
    if (options.detach_on_hangup) {
        context.interrupts->let_go_on_hangup();
    }
    std::optional<KeyWatch> key;
    if (!context.json()) {
        key.emplace(context.executor, 'd', [&context] { context.interrupts->let_go(); });
    }
    const bool has_key = key && key->watches() && !job.detach;
    context.reporter->on(
        {.kind = Event::Kind::note,
         .text = describe(decided.launches, *prepared) + (has_key ? " (d: leave it to the cluster)" : "")});
    auto outcome = co_await run_in_view(context, **view, std::move(decided), job);
    outcome.collected = co_await collect_after(context, cluster, outcome, job.job, options.carry);
    co_return tell_end(context, outcome, job.job);
}

std::string launcher_list() {
    std::string text = "How the command becomes processes (default: `launcher` in the file, or plain):";
    for (const auto& launcher : launchers()) {
        text += fmt::format("\n  {}: {}", launcher.name, launcher.summary);
    }
    return text;
}

} // namespace

void add_run(CLI::App& app, Program& program) {
    auto options = std::make_shared<RunOptions>();
    auto* command = app.add_subcommand("run", "Run a job over the nodes: dockdist run [options] -- COMMAND…");
    command->add_option("--nodes", options->nodes,
                        "How many nodes, or which: 2, or node-0,node-3 (default: all)");
    command->add_option("--exclude", options->exclude, "Leave these nodes out: node-1,node-4");
    command->add_option("--gpus", options->gpus, "Ranks on each node (default: the node's slots)")
        ->check(CLI::PositiveNumber);
    command->add_option("--launcher", options->launcher, launcher_list());
    command->add_option("--via", options->via,
                        "How the launcher reaches the other nodes, where it has a choice");
    command
        ->add_option(
            "--launcher-arg", options->launcher_args,
            "An argument for the launcher itself, after dockdist's own: --launcher-arg=--bind-to; repeatable")
        ->allow_extra_args(false);
    command->add_flag("--per-rank", options->per_rank,
                      "With the launcher plain: the command once on every slot, not once on each node");
    command->add_flag("--dry-run", options->dry_run,
                      "Print for every node the environment, files and command, and start nothing");
    command
        ->add_option("--env", options->env,
                     "NAME=VALUE for every rank, or NAME to pass your own value on; repeatable")
        ->allow_extra_args(false);
    command->add_option("--workdir", options->workdir,
                        "Where to run (default: container.workdir of the file)");
    command->add_option("--grace", options->grace, "Time between TERM and KILL when the job is stopped")
        ->capture_default_str();
    command->add_option("--lease", options->lease, "How long the job lives on when this client is gone")
        ->capture_default_str();
    add_restart_options(*command, options->restarts);
    command
        ->add_option("--backoff", options->backoff,
                     "Time before the first restart; doubles with each, up to 30s")
        ->capture_default_str();
    auto* stall = command->add_option(
        "--stall", options->stall,
        "When no rank has written anything for this time: report what each is doing, with its stacks where "
        "py-spy or gdb is in the image");
    command
        ->add_option(
            "--on-stall", options->on_stall,
            "What follows the report: report (nothing), or stop: that is a failure (exit code 124, or "
            "a restart)")
        ->check(CLI::IsMember({"report", "stop"}))
        ->needs(stall)
        ->capture_default_str();
    command->add_flag("--detach", options->detach,
                      "Leave the job to the cluster once it has started: it needs no client any more");
    command->add_flag("--detach-on-hangup", options->detach_on_hangup,
                      "Leave the job to the cluster when this terminal is closed");
    command->add_option("--name", options->name, "The job's name (default: a generated one)");
    command->add_option("--timeout", options->timeout,
                        "The nodes end the job after this time, with or without this client: exit code 124");
    command
        ->add_option("--log-limit", options->log_limit,
                     "How much output a node keeps of the job; beyond it the oldest is deleted")
        ->capture_default_str();
    add_view_options(*command, options->view);
    add_sync_and_collect_options(*command, options->carry);
    command->add_option("COMMAND", options->command, "The command and its arguments, after --")->required();
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run(context, *options); };
    });
}

} // namespace dockdist

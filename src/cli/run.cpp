#include "cli/context.hpp"
#include "cli/job_screen.hpp"
#include "cli/json_job_sink.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "job/run_job.hpp"
#include "job/select_nodes.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dockdist {
namespace {

constexpr int own_failure = 125;

struct Options {
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
    std::string grace = "10s";
    std::string lease = "30s";
    int max_restarts = 0;
    std::string backoff = "1s";
    bool detach = false;
    bool detach_on_hangup = false;
    bool raw = false;
    std::vector<std::string> command{};
};

// What --env gives to every process. K alone takes the value from here.
Result<std::map<std::string, std::string>> own_variables(const Options& options) {
    std::map<std::string, std::string> env;
    for (const auto& setting : options.env) {
        const auto equals = setting.find('=');
        const auto name = setting.substr(0, equals);
        if (name.empty()) {
            return Error{ErrorKind::usage, "--env", "`" + printable(setting) + "` names no variable",
                         "write NAME=VALUE, or NAME to pass on yours"};
        }
        if (equals != std::string::npos) {
            env[name] = setting.substr(equals + 1);
        } else if (const char* value = std::getenv(name.c_str()); value != nullptr) {
            env[name] = value;
        } else {
            return Error{ErrorKind::usage, "--env", "`" + printable(name) + "` is not set here",
                         "write " + printable(name) + "=VALUE"};
        }
    }
    return env;
}

Result<JobOptions> job_options(const Options& options, const ClusterSpec& spec, JobId job) {
    const auto grace = parse_duration(options.grace);
    const auto lease = parse_duration(options.lease);
    const auto backoff = parse_duration(options.backoff);
    const auto wrong = [](const char* option, const std::string& value) {
        return Error{ErrorKind::usage, option, "`" + printable(value) + "` is not a duration above zero",
                     "write it like 10s or 2m"};
    };
    if (!grace) {
        return wrong("--grace", options.grace);
    }
    if (!lease || lease->count() == 0) {
        return wrong("--lease", options.lease);
    }
    if (!backoff) {
        return wrong("--backoff", options.backoff);
    }
    return JobOptions{.job = std::move(job),
                      .user = spec.container.user,
                      .workdir = options.workdir.empty() ? spec.container.workdir : options.workdir,
                      .lease = *lease,
                      .grace = *grace,
                      .max_restarts = options.max_restarts,
                      .backoff = *backoff,
                      .detach = options.detach};
}

struct Prepared {
    Launcher launcher{};
    JobOptions job{};
    std::vector<ReadyNode> nodes{};
    LaunchRequest request{};
};

// Everything that can be wrong with the command line, before any node is asked.
Result<Prepared> prepare(const Options& options, const Attached& cluster) {
    const auto name = options.launcher.empty() ? cluster.spec.launcher : options.launcher;
    const auto launcher = find_launcher(name.empty() ? "plain" : name);
    if (!launcher) {
        return launcher.error();
    }
    auto nodes = select_nodes(cluster.nodes, options.nodes, options.exclude);
    if (!nodes) {
        return nodes.error();
    }
    auto env = own_variables(options);
    if (!env) {
        return env.error();
    }
    auto settings = job_options(options, cluster.spec, JobId("job-" + unique_id()));
    if (!settings) {
        return settings.error();
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
                          .options = options.launcher_args};
    for (const auto& node : *nodes) {
        const auto& record = node.record;
        request.nodes.push_back({node.name, record.address, record.interface, record.slots, record.gpus, {}});
    }
    if (auto checked = check_request(*launcher, request); !checked) {
        return checked.error();
    }
    return Prepared{*launcher, std::move(*settings), std::move(*nodes), std::move(request)};
}

struct Decided {
    OpenedJob opened{};
    std::vector<NodeLaunch> launches{};
    Errors errors{};
};

// What each node has to start, from what the nodes say.
Task<Decided> decide(const Attached& cluster, Prepared& prepared) {
    Decided decided;
    decided.opened =
        co_await open_job(cluster.engines, prepared.nodes, prepared.job,
                          questions(prepared.launcher, prepared.request), prepared.launcher.ports);
    decided.errors = decided.opened.errors;
    if (decided.errors.empty()) {
        decided.errors = take_answers(prepared.launcher, prepared.request, decided.opened.facts);
    }
    if (decided.errors.empty()) {
        auto launches = prepared.launcher.launch(prepared.request);
        if (launches) {
            decided.launches = std::move(*launches);
        } else {
            decided.errors.push_back(launches.error());
        }
    }
    co_return decided;
}

// "job-1a2b3c4d: 4 ranks on 2 nodes".
std::string describe(const std::vector<NodeLaunch>& launches, const JobId& job) {
    int ranks = 0;
    for (const auto& launch : launches) {
        ranks += launch.supports ? launch.ranks : std::max(launch.ranks, 1);
    }
    return fmt::format("{}: {} rank{} on {} node{}", job.str(), ranks, ranks == 1 ? "" : "s", launches.size(),
                       launches.size() == 1 ? "" : "s");
}

nlohmann::json to_json(const JobOutcome& outcome, const JobId& job) {
    nlohmann::json json{{"type", "result"},
                        {"job", job.str()},
                        {"exit_code", outcome.exit_code},
                        {"interrupted", outcome.interrupted},
                        {"detached", outcome.detached},
                        {"attempts", outcome.attempts},
                        {"nodes", nlohmann::json::array()}};
    if (outcome.first_failure) {
        json["first_failure"] = outcome.first_failure->failure;
        json["first_failure"]["node"] = outcome.first_failure->node;
    }
    for (const auto& node : outcome.nodes) {
        json["nodes"].push_back({{"node", node.node.str()}});
        if (node.result) {
            json["nodes"].back()["result"] = *node.result;
        }
    }
    return json;
}

Error failure_error(const JobFailure& failure, const JobId& job) {
    const auto& what = failure.failure;
    std::string message = what.rank < 0 ? "the command" : fmt::format("rank {}", what.rank);
    if (what.oom) {
        message += " was killed because its memory limit was reached (out of memory)";
    } else if (what.signal != 0) {
        message += fmt::format(" was ended by signal {} ({})", what.signal, strsignal(what.signal));
    } else {
        message += fmt::format(" exited with {}", what.code);
    }
    std::string tail;
    for (const auto& line : split(what.tail, '\n')) {
        if (!line.empty()) {
            tail += (tail.empty() ? "" : "\n") + printable(line);
        }
    }
    return {ErrorKind::job, failure.node, job.str() + ": " + message,
            tail.empty() ? "" : "its last lines:\n" + tail};
}

Task<JobOutcome> run_on_screen(Context& context, Decided decided, JobOptions job, bool raw) {
    FdSink sink;
    auto output = probe_job_output();
    output.raw = raw;
    JobScreen screen(output, sink);
    for (const auto& launch : decided.launches) {
        for (int i = 0; i < launch.ranks; ++i) {
            screen.expect(launch.node, launch.first_rank + i);
        }
        if (launch.ranks == 0) {
            screen.expect(launch.node, -1);
        }
    }
    auto outcome = co_await run_job(std::move(decided.opened), std::move(decided.launches), job,
                                    *context.interrupts, screen, *context.reporter);
    screen.finish();
    co_return outcome;
}

Task<JobOutcome> run_as_json(Context& context, Decided decided, JobOptions job) {
    JsonJobSink sink;
    auto outcome = co_await run_job(std::move(decided.opened), std::move(decided.launches), job,
                                    *context.interrupts, sink, *context.reporter);
    sink.finish();
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

Task<int> run(Context& context, Options options) {
    auto cluster = co_await attach_to_cluster(context, Secrets::resolve);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors) == 2 ? 2 : own_failure;
    }
    auto prepared = prepare(options, cluster);
    if (!prepared) {
        co_return context.fail(prepared.error()) == 2 ? 2 : own_failure;
    }
    auto decided = co_await decide(cluster, *prepared);
    if (!decided.errors.empty()) {
        co_return context.fail(decided.errors) == 2 ? 2 : own_failure;
    }
    if (options.dry_run) {
        print_launches(context, *prepared, decided.launches);
        co_return 0;
    }
    const auto& job = prepared->job;
    if (options.detach_on_hangup) {
        context.interrupts->let_go_on_hangup();
    }
    context.reporter->on({.kind = Event::Kind::note, .text = describe(decided.launches, job.job)});
    const auto outcome = context.json()
                             ? co_await run_as_json(context, std::move(decided), job)
                             : co_await run_on_screen(context, std::move(decided), job, options.raw);
    if (outcome.first_failure) {
        context.fail(failure_error(*outcome.first_failure, job.job));
    }
    context.fail(outcome.errors);
    if (context.json()) { // the result is the last line
        context.print_json(to_json(outcome, job.job));
    }
    if (outcome.detached && outcome.errors.empty()) {
        context.reporter->on({.kind = Event::Kind::note,
                              .text = job.job.str() + " goes on by itself: `dockdist attach " +
                                      job.job.str() + "` shows it, `dockdist stop " + job.job.str() +
                                      "` ends it"});
        co_return 0;
    }
    if (outcome.interrupted) {
        co_return 130;
    }
    co_return outcome.first_failure ? outcome.exit_code : (outcome.errors.empty() ? 0 : own_failure);
}

std::string launcher_list() {
    std::string text = "How the command becomes processes (default: `launcher` of the file, or plain):";
    for (const auto& launcher : launchers()) {
        text += fmt::format("\n  {}: {}", launcher.name, launcher.summary);
    }
    return text;
}

} // namespace

void add_run(CLI::App& app, Program& program) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("run", "Run a job over the nodes: dockdist run [options] -- COMMAND…");
    command->add_option("--nodes", options->nodes,
                        "How many nodes, or which: 2, or node-0,node-3 (default: all)");
    command->add_option("--exclude", options->exclude, "Leave these nodes out: node-1,node-4");
    command->add_option("--gpus", options->gpus, "Ranks a node (default: the node's slots)")
        ->check(CLI::PositiveNumber);
    command->add_option("--launcher", options->launcher, launcher_list());
    command->add_option("--via", options->via,
                        "How the launcher reaches the other nodes, where it has a choice");
    command
        ->add_option("--launcher-arg", options->launcher_args,
                     "A word for the launcher itself, put after ours: --launcher-arg=--bind-to; repeatable")
        ->allow_extra_args(false);
    command->add_flag("--per-rank", options->per_rank,
                      "With the launcher plain: the command once on every slot, not once a node");
    command->add_flag("--dry-run", options->dry_run,
                      "Print for every node the environment, files and command, and start nothing");
    command
        ->add_option("--env", options->env, "NAME=VALUE for every rank, or NAME to pass on yours; repeatable")
        ->allow_extra_args(false);
    command->add_option("--workdir", options->workdir,
                        "Where to run (default: container.workdir of the file)");
    command->add_option("--grace", options->grace, "Time between TERM and KILL when the job is stopped")
        ->capture_default_str();
    command->add_option("--lease", options->lease, "How long the job lives on when this client is gone")
        ->capture_default_str();
    command
        ->add_option("--max-restarts", options->max_restarts,
                     "How often the whole job is begun anew after a failure")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("--backoff", options->backoff,
                     "Time before the first restart; doubles with each, up to 30s")
        ->capture_default_str();
    command->add_flag("--detach", options->detach,
                      "Leave the job to the cluster when it has started: it needs no client any more");
    command->add_flag("--detach-on-hangup", options->detach_on_hangup,
                      "Leave the job to the cluster when this terminal goes");
    command->add_flag("--raw", options->raw,
                      "Pass the job's bytes as they come: no prefixes, no protection of the terminal");
    command->add_option("COMMAND", options->command, "The command and its arguments, after --")->required();
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run(context, *options); };
    });
}

} // namespace dockdist

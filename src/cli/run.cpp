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
    std::optional<int> gpus{};
    std::string launcher{};
    std::vector<std::string> env{};
    std::string workdir{};
    std::string grace = "10s";
    std::string lease = "30s";
    bool raw = false;
    std::vector<std::string> command{};
};

// What --env and the file's secrets give to every rank. K alone takes the value from here.
Result<std::map<std::string, std::string>> job_environment(const Options& options, const ClusterSpec& spec) {
    std::map<std::string, std::string> env;
    for (const auto& secret : spec.container.secrets) {
        env[secret.name] = secret.value;
    }
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
    if (!grace || !lease || lease->count() == 0) {
        return Error{ErrorKind::usage, !grace ? "--grace" : "--lease",
                     "`" + printable(!grace ? options.grace : options.lease) +
                         "` is not a duration above zero",
                     "write it like 10s or 2m"};
    }
    return JobOptions{.job = std::move(job),
                      .user = spec.container.user,
                      .workdir = options.workdir.empty() ? spec.container.workdir : options.workdir,
                      .lease = *lease,
                      .grace = *grace};
}

struct Prepared {
    JobOptions job{};
    std::vector<ReadyNode> nodes{};
    std::vector<NodeLaunch> launches{};
};

// Everything that can be wrong with the command line, before any process starts.
Result<Prepared> prepare(const Options& options, const Attached& cluster) {
    const auto name = options.launcher.empty() ? cluster.spec.launcher : options.launcher;
    const auto launcher = find_launcher(name.empty() ? "plain" : name);
    if (!launcher) {
        return launcher.error();
    }
    auto nodes = select_nodes(cluster.nodes, options.nodes);
    if (!nodes) {
        return nodes.error();
    }
    auto env = job_environment(options, cluster.spec);
    if (!env) {
        return env.error();
    }
    const JobId job("job-" + unique_id());
    auto settings = job_options(options, cluster.spec, job);
    if (!settings) {
        return settings.error();
    }
    LaunchRequest request{.job = job,
                          .command = options.command,
                          .ranks_per_node = options.gpus,
                          .master_port = rendezvous_port(job),
                          .env = std::move(*env)};
    for (const auto& node : *nodes) {
        request.nodes.push_back({node.name, node.record.address, node.record.slots, node.record.gpus});
    }
    auto launches = launcher->launch(request);
    if (!launches) {
        return launches.error();
    }
    return Prepared{std::move(*settings), std::move(*nodes), std::move(*launches)};
}

// "job-1a2b3c4d: 4 ranks on 2 nodes".
std::string describe(const std::vector<NodeLaunch>& launches, const JobId& job) {
    int ranks = 0;
    for (const auto& launch : launches) {
        ranks += std::max(launch.ranks, 1);
    }
    return fmt::format("{}: {} rank{} on {} node{}", job.str(), ranks, ranks == 1 ? "" : "s", launches.size(),
                       launches.size() == 1 ? "" : "s");
}

nlohmann::json to_json(const JobOutcome& outcome, const JobId& job) {
    nlohmann::json json{{"type", "result"},
                        {"job", job.str()},
                        {"exit_code", outcome.exit_code},
                        {"interrupted", outcome.interrupted},
                        {"nodes", nlohmann::json::array()}};
    if (outcome.first_failure) {
        json["first_failure"] = outcome.first_failure->failure;
        json["first_failure"]["node"] = outcome.first_failure->node.str();
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
    return {ErrorKind::job, failure.node.str(), job.str() + ": " + message,
            tail.empty() ? "" : "its last lines:\n" + tail};
}

Task<JobOutcome> run_on_screen(Context& context, const Attached& cluster, Prepared job, bool raw) {
    FdSink sink;
    auto output = probe_job_output();
    output.raw = raw;
    JobScreen screen(output, sink);
    for (const auto& launch : job.launches) {
        for (int i = 0; i < launch.ranks; ++i) {
            screen.expect(launch.node, launch.first_rank + i);
        }
        if (launch.ranks == 0) {
            screen.expect(launch.node, -1);
        }
    }
    auto outcome = co_await run_job(cluster.engines, std::move(job.nodes), std::move(job.launches), job.job,
                                    *context.interrupts, screen, *context.reporter);
    screen.finish();
    co_return outcome;
}

Task<JobOutcome> run_as_json(Context& context, const Attached& cluster, Prepared job) {
    JsonJobSink sink;
    auto outcome = co_await run_job(cluster.engines, std::move(job.nodes), std::move(job.launches), job.job,
                                    *context.interrupts, sink, *context.reporter);
    sink.finish();
    co_return outcome;
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
    const auto job = prepared->job.job;
    context.reporter->on({.kind = Event::Kind::note, .text = describe(prepared->launches, job)});
    const auto outcome = context.json()
                             ? co_await run_as_json(context, cluster, std::move(*prepared))
                             : co_await run_on_screen(context, cluster, std::move(*prepared), options.raw);
    if (outcome.first_failure) {
        context.fail(failure_error(*outcome.first_failure, job));
    }
    context.fail(outcome.errors);
    if (context.json()) { // the result is the last line
        context.print_json(to_json(outcome, job));
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
    command->add_option("--gpus", options->gpus, "Ranks a node (default: the node's slots)")
        ->check(CLI::PositiveNumber);
    command->add_option("--launcher", options->launcher, launcher_list());
    command
        ->add_option("--env", options->env, "NAME=VALUE for every rank, or NAME to pass on yours; repeatable")
        ->allow_extra_args(false);
    command->add_option("--workdir", options->workdir,
                        "Where to run (default: container.workdir of the file)");
    command->add_option("--grace", options->grace, "Time between TERM and KILL when the job is stopped")
        ->capture_default_str();
    command->add_option("--lease", options->lease, "How long the job lives on when this client is gone")
        ->capture_default_str();
    command->add_flag("--raw", options->raw,
                      "Pass the job's bytes as they come: no prefixes, no protection of the terminal");
    command->add_option("COMMAND", options->command, "The command and its arguments, after --")->required();
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run(context, *options); };
    });
}

} // namespace dockdist

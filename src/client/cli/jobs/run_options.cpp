#include "client/cli/jobs/run_options.hpp"

#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/job/select_nodes.hpp"
#include "shared/core/ending_signals.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"
#include "shared/wire/ready_probe.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

std::string launcher_list() {
    std::string text = "Launchers:";
    for (const auto& launcher : launchers()) {
        text += fmt::format("\n  {}: {}", launcher.name, launcher.summary);
    }
    return text;
}

} // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
    command
        .add_option(
            "-n,--nodes", options.nodes,
            "How many nodes: 2, or 4@rack2 of a group, whichever are free, first:2 for the first; or which: "
            "node-0,node-[3-7], @rack2 (default: all)")
        ->type_name("NODES");
    command.add_option("--exclude", options.exclude, "Leave these nodes out: node-1,node-[4-5], @rack1")
        ->type_name("NODES");
    command.add_flag(
        "--keep-going", options.keep_going,
        "Run on the nodes that are ready, also where there are fewer than `min_nodes` of the file");
    number(command.add_option("-g,--gpus", options.gpus,
                              "How many GPUs of each node are reserved for the job; as "
                              "many ranks per node (default: all, and the node's slots)"),
           1, most_gpus_of_a_node);
    auto* share =
        command.add_flag("--share", options.share,
                         "Reserve no GPUs, and see all that the nodes have, also those that others have");
    auto* no_wait =
        command
            .add_flag("--no-wait", options.no_wait, "Fail at once where others have the GPUs: exit code 75")
            ->excludes(share);
    duration(command.add_option("--wait", options.wait,
                                "How long to wait in line for GPUs that others have, then exit code 75 "
                                "(default: as long as it takes)"))
        ->excludes(no_wait)
        ->excludes(share);
    number(command.add_option(
               "--priority", options.priority,
               "Go ahead of jobs in line with a lower priority; running jobs are not interrupted"),
           -wire::max_priority, wire::max_priority)
        ->excludes(share)
        ->capture_default_str();
    command
        .add_option(
            "--launcher", options.launcher,
            "How the command becomes processes; all are listed below (default: `launcher` in the file, "
            "or plain)")
        ->type_name("LAUNCHER");
    command.footer(command.get_footer() + "\n\n" + launcher_list());
    command
        .add_option("--via", options.via, "How the launcher reaches the other nodes, where it has a choice")
        ->type_name("WAY");
    command
        .add_option(
            "--launcher-arg", options.launcher_args,
            "An argument for the launcher itself, after dockdist's own: --launcher-arg=--bind-to; repeatable")
        ->type_name("WORD")
        ->allow_extra_args(false);
    command.add_flag("--per-rank", options.per_rank,
                     "With the launcher plain: the command once on every slot, not once on each node");
    command
        .add_option("--role", options.roles,
                    "With the launcher tensorflow: how many processes of each role: chief=1, worker=4, ps=2; "
                    "repeatable (default: `roles` in the file, or a worker on each node)")
        ->type_name("ROLE=COUNT")
        ->allow_extra_args(false);
    command.add_flag("--dry-run", options.dry_run,
                     "Print for every node the environment, files and command, and start nothing");
    variable(command.add_option("-e,--env", options.env,
                                "NAME=VALUE for every rank, or NAME to pass your own value on; repeatable"))
        ->allow_extra_args(false);
    command
        .add_option("--workdir", options.workdir,
                    "Where to run, in the nodes (default: container.workdir of the file)")
        ->type_name("PATH");
    duration(command.add_option(
                 "--grace", options.grace,
                 "Time between the signal and KILL when the job is stopped; every launcher respects it"),
             std::chrono::milliseconds(0))
        ->capture_default_str();
    stop_signal(
        command.add_option("--signal", options.signal,
                           "The signal that tells each rank to end, sent once: TERM, INT, HUP, QUIT, USR1 or "
                           "USR2; INT is what Ctrl-C is to Python (KeyboardInterrupt)"))
        ->capture_default_str();
    duration(
        command.add_option("--lease", options.lease, "How long the job lives on when this client is gone"))
        ->capture_default_str();
    add_restart_options(command, options.restarts);
    duration(command.add_option("--backoff", options.backoff,
                                "Time before the first restart; doubles with each, up to 30s"))
        ->capture_default_str();
    duration_or_off(command.add_option(
        "--diagnose", options.diagnose,
        "When nothing has moved in the job for this long: look why, and warn where that is sure; off: never "
        "(default: 30s for launchers of training, else off)"));
    duration(command.add_option(
        "--stall", options.stall,
        "When no rank has written anything for this long: report what each is doing, with its stacks "
        "(of other programs than Python where gdb is in the image)"));
    choice(command.add_option("--on-stall", options.on_stall,
                              "What follows the report: report (nothing), or stop, which "
                              "is a failure (exit code 124, or a restart); restart: the same, and as soon as "
                              "--diagnose is sure, with a spare node in place of the one at fault; a cause "
                              "that a restart does not help ends the job"),
           {"report", "stop", "restart"})
        ->capture_default_str();
    add_idle_options(command, options.idle);
    command
        .add_option("--ready", options.ready,
                    "When the job's service is ready: when its first node gets an answer from "
                    "http://:PORT/PATH (2xx), or a connection to tcp://:PORT")
        ->type_name("ADDRESS")
        ->check([](const std::string& word) {
            const auto probe = wire::parse_ready_probe(word);
            return probe ? std::string() : probe.error().message + "\n" + probe.error().hint;
        });
    auto* report = command.add_option(
        "--report", options.page,
        "When the job has ended, write what it has used as one HTML page, with curves over time");
    report->type_name("FILE.html");
    auto* detach =
        command.add_flag("-d,--detach", options.detach,
                         "Leave the job to the cluster once it has started, with --ready once it is ready: "
                         "it no longer needs a client");
    detach->excludes(report);
    command
        .add_option("--forward", options.forward,
                    "Forward a port of the job's first node, also when another node takes that role, to this "
                    "machine while this client follows the job: 6006, or 8080:6006, as `dockdist forward` "
                    "takes them; repeatable")
        ->type_name("PORT")
        ->allow_extra_args(false)
        ->excludes(detach);
    command.add_flag("--detach-on-hangup", options.detach_on_hangup,
                     "Leave the job to the cluster when this terminal is closed");
    command
        .add_option(
            "--name", options.name,
            "The job's name (default: a generated one). Once that job has ended it can be used again: "
            "NAME is the latest, NAME.run1 the first, NAME.run2 the second")
        ->type_name("NAME")
        ->check([](const std::string& word) {
            if (const auto run = named_run(JobId(word)); run.name != word) {
                return fmt::format(
                    "`{}` is run {} of the jobs named {}\nwrite --name {}, which gives each of them "
                    "its number",
                    printable(word), run.run, printable(run.name), printable(run.name));
            }
            return wire::is_job_id(word)
                       ? std::string()
                       : fmt::format("`{}` is not a job's name\nwrite 1 to 64 letters, digits, '-', '_' or "
                                     "'.', and no '.' first",
                                     printable(word));
        });
    duration(command.add_option(
        "--timeout", options.timeout,
        "The nodes end the job after this time, with or without this client: exit code 124"));
    size(command.add_option("--log-limit", options.log_limit,
                            "How much output a node keeps of the job; beyond it the oldest is deleted"),
         static_cast<std::uint64_t>(wire::least_log_limit))
        ->capture_default_str();
    add_view_options(command, options.view);
    add_sync_and_collect_options(command, options.carry);
    command.add_option("COMMAND", options.command, "The command and its arguments, after --")->required();
}

std::vector<NodeWords> named_by(const RunOptions& options) {
    return options.nodes.empty() || node_count(options.nodes)
               ? std::vector<NodeWords>()
               : std::vector<NodeWords>{{"--nodes", without_counts(options.nodes), Ranks::refused}};
}

std::vector<NodeWords> excluded_by(const RunOptions& options) {
    return options.exclude.empty() ? std::vector<NodeWords>()
                                   : std::vector<NodeWords>{{"--exclude", options.exclude, Ranks::refused}};
}

namespace {

// Of a launcher of training what the line leaves open is set once that is known.
Status set_diagnosis(const RunOptions& options, JobOptions& job) {
    job.stop_stalled = options.on_stall != "report";
    job.stop_hung = options.on_stall == "restart";
    job.suspect = parse_duration(options.diagnose).value_or(std::chrono::milliseconds(0));
    if (options.on_stall == "stop" && options.stall.empty()) {
        return Error{ErrorKind::usage, "--on-stall", "no time is given after which the job has stalled",
                     "add --stall 10m"};
    }
    if (job.stop_hung && options.diagnose == "off") {
        return Error{ErrorKind::usage, "--on-stall", "without --diagnose nothing is known to restart for",
                     "leave out --diagnose off"};
    }
    return ok;
}

} // namespace

Result<JobOptions> job_options(const RunOptions& options, const ClusterSpec& spec) {
    JobOptions job{.job = JobId(options.name.empty() ? "job-" + random_hex(8) : options.name),
                   .user = spec.container.user,
                   .workdir = options.workdir.empty() ? spec.container.workdir : options.workdir};
    job.grace = parse_duration(options.grace).value_or(job.grace);
    job.signal = ending_signal(options.signal).value_or(job.signal);
    job.lease = parse_duration(options.lease).value_or(job.lease);
    job.backoff = parse_duration(options.backoff).value_or(job.backoff);
    job.timeout = parse_duration(options.timeout).value_or(job.timeout);
    job.stall = parse_duration(options.stall).value_or(job.stall);
    job.wait = options.no_wait ? std::chrono::milliseconds(0) : parse_duration(options.wait);
    if (const auto probe = wire::parse_ready_probe(options.ready)) {
        job.ready = probe->text();
    }
    job.detach = options.detach;
    TRY(set_diagnosis(options, job));
    TRY(set_idle(options.idle, spec.idle, options.share, job));
    job.owner = user_and_machine();
    job.cluster = spec.name.str();
    job.gpus = {.share = options.share || options.dry_run,
                .count = options.gpus.value_or(wire::all_units),
                .priority = options.priority,
                .in_use_mib = gpu_in_use_mib(spec)};
    job.log_limit = parse_size(options.log_limit).value_or(job.log_limit);
    return job;
}

} // namespace dockdist

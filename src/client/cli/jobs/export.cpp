#include "client/cli/jobs/export.hpp"

#include "client/cli/jobs/prepared_run.hpp"
#include "client/cli/line/values.hpp"
#include "client/job/select_nodes.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

// As `run` chooses among nodes that are ready: here all are. A number may be more than the file has: a
// scheduler has other nodes.
struct Chosen {
    std::vector<NodeName> nodes{};
    std::size_t count = 0;
};
Result<Chosen> choose(const RunOptions& options, const ClusterSpec& spec, std::size_t spares) {
    std::vector<ReadyNode> all;
    for (const auto& node : expand_nodes(spec)) {
        all.push_back({.name = node.name, .host = node.host});
    }
    const auto count = node_count(options.nodes);
    const bool more =
        count && *count + spares > all.size() && *count <= most_cluster_nodes && options.exclude.empty();
    auto nodes = select_nodes(spec, all, more ? "" : options.nodes, options.exclude, more ? 0 : spares);
    TRY(nodes);
    Chosen chosen{.count = more ? *count : nodes->size() - spares};
    nodes->resize(std::min(chosen.count, nodes->size()));
    for (const auto& node : *nodes) {
        chosen.nodes.push_back(node.name);
    }
    return chosen;
}

std::set<std::string> given_options(const CLI::App& command) {
    std::set<std::string> given;
    for (const auto* option : command.get_options()) {
        if (option->count() > 0 && !option->get_lnames().empty()) {
            given.insert("--" + option->get_lnames().front());
        }
    }
    return given;
}

// What is printed is made safe for terminals: a script would say something else then.
Status without_controls(const std::string& text) {
    for (const auto& line : split(text, '\n')) {
        if (!is_printable(line)) {
            return Error{ErrorKind::usage, "",
                         "control characters, text-direction marks and bytes "
                         "that are not UTF-8 cannot be exported: " +
                             printable(line),
                         "leave it out, or give the job a script of yours to run"};
        }
    }
    return ok;
}

// From a machine on which jobs are submitted to Slurm: the allocation that `hosts` are of is not there yet.
// One host stands for its nodes.
Task<Loaded> load_for_export(const Context& context, const RunOptions& options) {
    auto loaded = load_without_lists(context);
    if (!loaded.errors.empty() || !names_slurm(loaded) || client_environment("SLURM_JOB_ID")) {
        co_return co_await load(context, Secrets::leave);
    }
    context.warn(loaded.warnings);
    Loaded alone{.spec = std::move(loaded.spec)};
    if (!node_count(options.nodes)) {
        alone.errors.push_back(
            {ErrorKind::usage, "--nodes",
             "the number of nodes is not known: the hosts are those of an allocation, and this is not in one",
             "say how many: --nodes 2 --gpus 8"});
    }
    alone.spec.hosts = {{.name = HostName("slurm")}};
    co_return alone;
}

Task<int> print_export(Context& context, const RunOptions& options, std::set<std::string> given,
                       Exporter exporter) {
    const auto loaded = co_await load_for_export(context, options);
    if (!loaded.errors.empty()) {
        co_return context.fail(loaded.errors);
    }
    const auto job = export_job_of(options, loaded.spec, std::move(given));
    if (!job) {
        co_return context.fail(job.error());
    }
    const auto exported = exporter(*job);
    if (!exported) {
        co_return context.fail(exported.error());
    }
    if (const auto bare = without_controls(exported->text); !bare) {
        co_return context.fail(bare.error());
    }
    context.warn(exported->warnings);
    if (context.json()) {
        context.print_foreign_json(exported->json.empty() ? nlohmann::json{{"text", exported->text}}
                                                          : nlohmann::json::parse(exported->json));
    } else {
        context.print(exported->text);
    }
    co_return 0;
}

} // namespace

Result<ExportJob> export_job_of(const RunOptions& options, const ClusterSpec& spec,
                                std::set<std::string> given) {
    auto run = judge_run(options, spec);
    TRY(run);
    const auto chosen = choose(options, spec, run->spares);
    TRY(chosen);
    std::optional<Error>
        in_the_script; // where plain is what was asked for, the line stands there for all to see
    TRY(judge_launch_line(*run, chosen->count, in_the_script));
    auto nodes = placed(spec, chosen->nodes, chosen->count, options.gpus);
    TRY(nodes);
    ExportJob job{.spec = spec,
                  .name = options.name.empty() ? spec.name.str() : options.name,
                  .launcher = run->launcher,
                  .request = std::move(run->request),
                  .own_env = run->job.env,
                  .workdir = run->job.workdir,
                  .timeout = run->job.timeout,
                  .grace = run->job.grace,
                  .backoff = run->job.backoff,
                  .max_restarts = options.restarts.max_restarts.value_or(0),
                  .sync = !options.carry.no_sync,
                  .given = std::move(given)};
    take_from_file(job, std::move(*nodes));
    TRY(check_slots(job.launcher, job.request));
    return job;
}

void set_export(CLI::App& command, Program& program, Exporter exporter) {
    auto options = std::make_shared<RunOptions>();
    add_run_options(command, *options);
    command.callback([&command, options, &program, exporter = std::move(exporter)] {
        program.one_value = true;
        program.work = [&command, options, exporter](Context& context) {
            return print_export(context, *options, given_options(command), exporter);
        };
    });
    command.fallthrough();
}

void add_export(CLI::App& app, Program& program) {
    auto* exports = describe(
        app.add_subcommand(
            "export",
            "Export a job to another scheduler: a script for Slurm's sbatch, or manifests for Kubernetes"),
        command_group::jobs,
        {"dockdist export slurm --gpus 8 -- train.py | sbatch",
         "dockdist export slurm --no-container --nodes 4 --gpus 8 -- ./train.sh",
         "dockdist export kubernetes --launcher torchrun --gpus 8 -- train.py | kubectl apply -f -"});
    exports->require_subcommand(1);
    add_export_slurm(*exports, program);
    add_export_kubernetes(*exports, program);
}

} // namespace dockdist

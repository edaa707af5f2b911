// `dockdist slurm`: a job of ours as a batch job of Slurm's.
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/slurm/batch_job.hpp"
#include "client/cli/slurm/submit.hpp"

#include <CLI/CLI.hpp>

#include <array>

namespace dockdist {
namespace {

struct OfSbatch {
    const char* names;
    const char* value; // null: a flag
    const char* help;
};

// What most sites ask for. The rest goes by --sbatch, and by sbatch's own SBATCH_* variables.
constexpr std::array<OfSbatch, 17> sbatch_options{{
    {"-N,--nodes", "COUNT", "Nodes"},
    {"-p,--partition", "NAME", "Partition"},
    {"-t,--time", "LIMIT", "Limit: minutes, HH:MM:SS, D-HH"},
    {"-A,--account", "NAME", "Account to charge"},
    {"-q,--qos", "NAME", "Quality of service"},
    {"-J,--job-name", "NAME", "Name in Slurm's queue (default: the cluster's)"},
    {"-G,--gpus", "COUNT", "GPUs of the whole job"},
    {"--gpus-per-node", "COUNT", "GPUs of each node"},
    {"--gres", "LIST", "Generic resources of each node: gpu:8"},
    {"-n,--ntasks", "COUNT", "Tasks, which are slots where a node has no GPUs"},
    {"--ntasks-per-node", "COUNT", "The same, for each node"},
    {"-c,--cpus-per-task", "COUNT", "Processors of each task"},
    {"--mem", "AMOUNT", "Memory of each node"},
    {"-C,--constraint", "LIST", "Features that nodes must have"},
    {"-w,--nodelist", "LIST", "These nodes"},
    {"-x,--exclude", "LIST", "Exclude these nodes"},
    {"--exclusive", nullptr, "Whole nodes, shared with nobody"},
}};

void add_command_words(CLI::App& command, std::vector<std::string>& words) {
    command.add_option("COMMAND", words, "`run`, its options, `--` and what it runs")->required();
}

void add_submit(CLI::App& slurm, Program& program) {
    auto options = std::make_shared<SubmitOptions>();
    auto* command =
        slurm.add_subcommand("submit", "Queue it with sbatch, and follow it: the nodes that Slurm "
                                       "allocates become the cluster (up, run, collect, down)");
    for (const auto& [names, value, help] : sbatch_options) {
        const std::string all = names;
        auto& given = options->sbatch[all.substr(all.find("--"))];
        if (value == nullptr) {
            command->add_flag_callback(all, [&given] { given = std::string(); }, help);
        } else {
            command->add_option(all, given, help)->type_name(value);
        }
    }
    command
        ->add_option("--sbatch", options->more,
                     "One more argument for sbatch; repeatable: --sbatch=--reservation=night")
        ->type_name("WORD")
        ->take_all()
        ->allow_extra_args(false);
    duration(command->add_option("--warning", options->warning,
                                 "How long before the time limit the job is stopped, as --timeout would"),
             std::chrono::seconds(1), std::chrono::seconds(65535)) // sbatch(1), --signal
        ->capture_default_str();
    command->add_flag("--no-wait", options->no_wait, "Print the job's id, and leave it to Slurm");
    add_command_words(*command, options->command);
    command->callback([options, &program] {
        program.work = [options, &program](Context& context) { return submit(context, program, *options); };
    });
    command->fallthrough();
}

void add_batch_job(CLI::App& slurm, Program& program) {
    auto words = std::make_shared<std::vector<std::string>>();
    auto* command = slurm.add_subcommand(
        "job", "Inside an allocation, as in a batch script of your own: up, run, collect, down");
    add_command_words(*command, *words);
    command->callback([words, &program] {
        program.work = [words, &program](Context& context) {
            return run_batch_job(context, program, *words);
        };
    });
    command->fallthrough();
}

} // namespace

void add_slurm(CLI::App& app, Program& program) {
    auto* slurm = describe(
        app.add_subcommand("slurm", "Run on nodes that Slurm allocates: submit a job, or run as one"),
        command_group::jobs,
        {"dockdist slurm submit --nodes 2 --gpus-per-node 8 --time 4:00:00 -- run -- train.py",
         "dockdist slurm job -- run --launcher torchrun -- train.py   # in a script for sbatch"});
    slurm->require_subcommand(1);
    add_submit(*slurm, program);
    add_batch_job(*slurm, program);
}

} // namespace dockdist

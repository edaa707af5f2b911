#include "client/cli/jobs/export.hpp"
#include "client/export/slurm.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {

void add_export_slurm(CLI::App& exports, Program& program) {
    auto options = std::make_shared<SlurmOptions>();
    auto* command = exports.add_subcommand(
        "slurm",
        "Print a script for sbatch, for sites with pyxis and enroot, from the same options that `run` takes");
    auto* none = command->add_flag_callback(
        "--no-container", [options] { options->container = false; },
        "Use no containers: the nodes have the software themselves");
    command
        ->add_option("--image", options->image,
                     "The image, or a file of enroot's that the nodes see (default: `image` of the file)")
        ->type_name("IMAGE")
        ->excludes(none);
    command
        ->add_option("--sbatch", options->sbatch,
                     "An option for sbatch: --sbatch=--partition=gpu; repeatable")
        ->type_name("WORD")
        ->allow_extra_args(false);
    command->add_option("--srun", options->srun, "An option for srun: --srun=--mpi=pmix; repeatable")
        ->type_name("WORD")
        ->allow_extra_args(false);
    set_export(*command, program, [options](const ExportJob& job) { return export_slurm(job, *options); });
}

} // namespace dockdist

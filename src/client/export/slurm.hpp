// A job as a script for Slurm's sbatch: in containers by pyxis and enroot, or with what the nodes have
// themselves.
#pragma once

#include "client/export/export_job.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct SlurmOptions {
    bool container = true;             // pyxis and enroot
    std::string image{};               // in place of the file's: a reference, or a file of enroot's
    std::vector<std::string> sbatch{}; // further options, "--partition=gpu"
    std::vector<std::string> srun{};
};

// Errors (usage, config): what no script can be made of; else what is left out is a warning.
Result<Exported> export_slurm(ExportJob job, const SlurmOptions& options);

// "nvcr.io#nvidia/pytorch:24.01-py3" of "nvcr.io/nvidia/pytorch:24.01-py3", "ubuntu" of
// "docker.io/library/ubuntu": enroot's way to write a reference. A path stays as it is.
std::string enroot_image(const std::string& ref);

} // namespace dockdist

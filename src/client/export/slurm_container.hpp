// What of cluster.yaml's containers pyxis and enroot are asked for, as options of srun.
#pragma once

#include "client/export/slurm.hpp"

#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct SlurmStep {
    std::vector<std::string> options{}; // words, not quoted
    std::set<std::string> mapped{};     // keys of the file that these say
    Errors warnings{};
};

// Errors (config): an image that no registry has.
Result<SlurmStep> container_step(const ExportJob& job, const SlurmOptions& options);
// Without containers.
SlurmStep plain_step(const ExportJob& job);

} // namespace dockdist

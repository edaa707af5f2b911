// The nodes that srun and sbatch have to give out.
#pragma once

#include "node/job/srun/srun_layout.hpp"
#include "node/session/job_part.hpp"
#include "shared/core/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

struct SrunCluster {
    std::vector<SrunNode> available{};
    std::map<std::string, std::string> interfaces{}; // by node
};

// SLURM_JOB_NODELIST's nodes, else all of the cluster's; within a job each with as many slots as it holds
// here.
Result<SrunCluster> find_srun_cluster(const std::optional<JobPart>& part);

// The job whose process this is.
std::optional<JobPart> own_part();

} // namespace dockdist::node

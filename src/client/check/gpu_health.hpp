// Whether a node's GPUs are sound, and free for a job.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/wire/job.hpp"

#include <vector>

namespace dockdist {

std::vector<wire::Question> gpu_health_questions();

// Uncorrected memory errors since the driver was loaded, and rows of memory that wait to be remapped or could
// not be. GPUs and drivers that do not tell pass.
CheckRow judge_ecc(const CheckedNode& node, const std::vector<Gpu>& gpus);

// Memory that is held although no job of dockdist runs on the node.
CheckRow judge_gpu_memory(const CheckedNode& node, const std::vector<Gpu>& gpus);

} // namespace dockdist

// The GPUs of every node: there, of one kind, sound, free. From what nvidia-smi inside the containers says
// now.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "client/container/types.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/wire/job.hpp"

#include <string>
#include <vector>

namespace dockdist {

bool asks_for_gpus(const GpuSpec& gpus);

// The programs whose output the functions below read, by the names under which they stand in NodeFacts.
std::vector<wire::Question> gpu_questions(const GpuSpec& gpus);

struct GpuFindings {
    std::vector<CheckRow> rows{}; // gpus, models, driver, ecc, memory, fabric
    std::vector<NodeGpus> gpus{};
};
// `wanted`: the file's node of each.
GpuFindings judge_gpus(const std::vector<CheckedNode>& nodes, const std::vector<NodeSpec>& wanted);

// How a host's engine gives GPUs to containers, where the file asks it for any.
CheckRow judge_toolkit(const HostSpec& host, const EngineInfo& engine);

} // namespace dockdist

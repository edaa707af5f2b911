// What srun's tasks see. Pure.
#pragma once

#include "node/job/srun/srun_options.hpp"
#include "node/session/job_part.hpp"
#include "node/system/environment.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// Of srun's own environment, what goes to the tasks on all nodes: all that its user has made different from
// what the node or the job put there. What is true of one node alone stays (its record has it, and so have
// the others' records).
struct CarriedVariables {
    std::map<std::string, std::string> set{};
    std::vector<std::string> unset{};
};
CarriedVariables carried_variables(const Environment& own, const Environment& recorded,
                                   const std::optional<JobPart>& part, const ExportedVariables& exported);

// Which of the GPUs that a node's session sees a task gets, as CUDA_VISIBLE_DEVICES; `visible` are they all.
// gpus: of all tasks there together, per_task: 0, or so many each.
std::string gpus_of_task(const std::vector<std::string>& visible, int gpus, int per_task, int local_rank);

} // namespace dockdist::node

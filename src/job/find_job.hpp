// Which jobs the nodes know. A job is known to the nodes that it ran on, and to nobody else.
#pragma once

#include "observe/observe.hpp"
#include "wire/job.hpp"

#include <vector>

namespace dockdist {

struct FoundJob {
    JobId job{};
    std::vector<ReadyNode> nodes{}; // where it ran, in rank order
};

// The job of this name, or the latest one when `job` is empty. not_found, with the names there are, when
// there is none.
Task<Result<FoundJob>> find_job(const Engines& engines, const std::vector<ReadyNode>& nodes, JobId job);

} // namespace dockdist

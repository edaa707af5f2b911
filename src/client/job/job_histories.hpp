// What the nodes have kept of a job: how its figures went over the time.
#pragma once

#include "client/observe/observe.hpp"
#include "shared/usage/job_usage.hpp"

#include <cstddef>
#include <vector>

namespace dockdist {

struct JobHistories {
    std::vector<NodeHistory> nodes{}; // those that have one, in the order of the nodes
    Errors errors{};                  // of nodes that do not answer
};

// Asks all nodes side by side, each for at most so many points a curve that all together stay within what a
// page can show.
Task<JobHistories> fetch_histories(const Engines& engines, const std::vector<ReadyNode>& nodes,
                                   const JobId& job);

} // namespace dockdist

// What stands out in what a job has used, in words. Pure.
#pragma once

#include "shared/usage/job_usage.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Sentences, the weightiest first: GPUs that did nothing (by their curves), what the nodes found while it
// ran, a node that did less than the others, GPUs that mostly waited. Of a job that was measured for less
// than half a minute what the nodes found alone. Of spares nothing.
std::vector<std::string> findings(const std::vector<NodeUsage>& usage,
                                  const std::vector<NodeHistory>& histories);

// What the nodes found while it ran, each with its node, sorted; of spares nothing.
std::vector<wire::Finding> recorded_findings(const std::vector<NodeUsage>& usage);

} // namespace dockdist

// Whether the jobs that hold GPUs are there: of what a board says of this cluster's own.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "shared/wire/gpus.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Row holders. `in_file`: all nodes of the cluster; `reports`: of each of `nodes`. Where a job has only just
// taken, or given back, its GPUs the node's answers need not fit together: such a young hold says nothing.
std::vector<CheckRow> judge_holders(const std::string& cluster, const std::vector<std::string>& in_file,
                                    const std::vector<CheckedNode>& nodes,
                                    const std::vector<Result<wire::GpuReport>>& reports);

} // namespace dockdist

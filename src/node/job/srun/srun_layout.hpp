// Which of the nodes run how many of srun's tasks. Pure.
#pragma once

#include "node/job/srun/srun_options.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

struct SrunNode {
    std::string name{};
    std::string address{};
    int slots = 1;      // a job's, where it holds some, else the node's
    int gpus_there = 0; // the same of GPUs
    int tasks = 0;
    int gpus = -1; // that the tasks there may see together; -1: all that there are
    bool operator==(const SrunNode&) const = default;
};

// The chosen nodes in the order of `available`, with tasks and gpus filled in; ranks go through them in
// blocks. As srun does it where it has to get nodes, it takes the fewest that have the slots; and where
// nothing is said at all, as in an allocation of all of `available`, a task on each. A remark in `options`,
// where it does less than was asked for.
Result<std::vector<SrunNode>> lay_out(SrunOptions& options, const std::vector<SrunNode>& available);

} // namespace dockdist::node

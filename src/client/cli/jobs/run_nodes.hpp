// On which nodes a run begins, and what each of them has to start.
#pragma once

#include "client/cli/context.hpp"
#include "client/cli/jobs/prepared_run.hpp"
#include "client/job/run_job.hpp"

#include <functional>
#include <vector>

namespace dockdist {

// As many nodes as were asked for may be ready without those that are missing; else they are errors.
Errors judge_missing(const Context& context, const Attached& cluster, const RunOptions& options,
                     std::size_t spares);

// The rest, which is wrong or not by the nodes that are ready; none of them has been asked anything yet. The
// run has the first of those that it may get.
Result<NodeChoice> choose_nodes(PreparedRun& prepared, const RunOptions& options, const Attached& cluster,
                                const Context& context);

struct Decided {
    OpenedJob opened{};
    std::vector<NodeLaunch> launches{};
    Errors warnings{};
    Errors errors{};
    bool chosen = false; // its nodes are those that were free, or will be first, of more that would do
};
// Brings the code to nodes.
using SyncTo = std::function<Task<Errors>(std::vector<ReadyNode> nodes)>;
// Opens the job, and says what each node has to start. Where it may get any of several nodes, it has those on
// which it begins as things stand.
Task<Decided> decide(const Context& context, const Attached& cluster, PreparedRun& prepared,
                     const NodeChoice& choice, const SyncTo& sync);
// After the wait: for the nodes that it has got, where these are others. Errors: as of decide.
Task<Errors> decide_again(const Attached& cluster, PreparedRun& prepared, Decided& decided,
                          const SyncTo& sync);

} // namespace dockdist

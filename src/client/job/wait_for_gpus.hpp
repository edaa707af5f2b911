// Between the opening of a job and its start: until its GPUs are its own on all of its nodes.
#pragma once

#include "client/job/gpu_text.hpp"
#include "client/job/run_job.hpp"

#include <vector>

namespace dockdist {

// Where a node has not taken them at once the job waits in line (client/job/gpu_line.hpp), for as long as
// JobOptions::wait says, tells what it waits for, and holds its lease everywhere. Who cancels the wait and
// drops the job leaves nothing behind. Afterwards the job's facts say which GPUs it has; of one that may have
// any of several nodes, its parts are those that it has got.
// Errors: busy (others have them, and it was not to wait longer); a node that was lost, by its name; what a
// node says that makes waiting futile.
Task<Status> wait_for_gpus(OpenedJob& opened, const JobOptions& options, Reporter& reporter);

// Holds the lease of a job that nobody waits for, as long as `task` runs.
Task<Errors> while_open(OpenedJob& opened, std::chrono::milliseconds lease, Task<Errors> task);

// Those that the job has; before wait_for_gpus such as it would get as things stand, or wait for. And their
// facts.
std::vector<ReadyNode> nodes_of(const OpenedJob& opened);
std::vector<wire::LaunchFacts> facts_of(const OpenedJob& opened);

// Of an opened job, part by part.
std::vector<NodeTurn> turns_of(const OpenedJob& opened);

} // namespace dockdist

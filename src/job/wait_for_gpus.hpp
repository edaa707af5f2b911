// Between the opening of a job and its start: until its GPUs are its own on all of its nodes.
#pragma once

#include "job/gpu_text.hpp"
#include "job/run_job.hpp"

#include <vector>

namespace dockdist {

// Where a node has not taken them at once the job waits in line (job/gpu_line.hpp), for as long as
// JobOptions::wait says, tells what it waits for, and holds its lease everywhere. Who cancels the wait and
// drops the job leaves nothing behind. Afterwards the job's facts say which GPUs it has.
// Errors: busy (others have them, and it was not to wait longer); a node that was lost, by its name; what a
// node says that makes waiting futile.
Task<Status> wait_for_gpus(OpenedJob& opened, const JobOptions& options, Reporter& reporter);

// Of an opened job, part by part.
std::vector<NodeTurn> turns_of(const OpenedJob& opened);

} // namespace dockdist

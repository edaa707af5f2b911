// The jobs that something is about to end: found, and ended in good order.
#pragma once

#include "client/job/job_list.hpp"
#include "client/plan/running_jobs.hpp"

#include <vector>

namespace dockdist {

// Nodes as the doors to their jobs, whether they are ready or not.
ReadyNode door_of(std::size_t host, const ObservedNode& node);

// Asks these nodes side by side, one exec each, for as long as list_jobs waits. A node without dockdist-init,
// or that is gone, has no jobs; one that does not answer is silent.
Task<JobsThere> find_running_jobs(const Engines& engines, const std::vector<ReadyNode>& nodes);

// Ends them all, side by side, as `dockdist stop` does: TERM, and KILL after the usual grace. What does not
// answer is left to whoever ends its container.
Task<void> stop_running_jobs(const Engines& engines, const std::vector<RunningJob>& jobs);

// Before something that would end the jobs of `there`: what is in its way, an error each. With `stop_jobs`
// nothing is: they are ended first. `what` is for would_end().
Task<Errors> make_way(const Engines& engines, JobsThere there, bool stop_jobs, std::string what,
                      Reporter& reporter);

} // namespace dockdist

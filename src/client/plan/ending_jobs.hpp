// Whether a plan may remove what it removes: nobody's work ends unasked.
#pragma once

#include "client/plan/plan.hpp"

namespace dockdist {

// Adds to `result`, whose plan has its removals and creates: that the jobs have to be asked for first; or
// what is in the way, as errors; or with `stop_jobs` the end of these jobs.
void check_jobs(const ObservedCluster& observed, bool stop_jobs, PlanResult& result);

// The same of the joins that `result` has by now: a job on a node that is to be elsewhere goes on.
void warn_of_moves(const ObservedCluster& observed, PlanResult& result);

} // namespace dockdist

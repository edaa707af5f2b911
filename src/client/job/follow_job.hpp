// A job that was started elsewhere: its output, its end, and its being stopped.
#pragma once

#include "client/job/job_list.hpp"
#include "client/job/run_job.hpp"
#include "shared/wire/job_query.hpp"

#include <chrono>
#include <vector>

namespace dockdist {

// Passes the job's output to `sink`, of all its nodes side by side, and holds nothing. Where the query (its
// job and position are set here) goes to the job's end, the outcome is the job's, however it went; else what
// the nodes that have ended say.
Task<JobOutcome> follow_job(const Engines& engines, const KnownJob& job, wire::JobQuery query, JobSink& sink);

// Ends every process of the job on all `nodes`, side by side, whether its supervisor lives or not. One answer
// a node; an error names it. `signal`: in place of the job's own.
Task<std::vector<Result<wire::JobResult>>> stop_job(const Engines& engines,
                                                    const std::vector<ReadyNode>& nodes, const JobId& job,
                                                    std::chrono::milliseconds grace, int signal = 0);

} // namespace dockdist

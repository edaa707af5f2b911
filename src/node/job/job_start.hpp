// `dockdist-init job start`: from the opening of a job to its running supervisor (shared/wire/job.hpp).
#pragma once

namespace dockdist::node {

// Answers the opening; runs the job when it is told to, and follows it then. Returns the exit status.
int run_job_start();

} // namespace dockdist::node

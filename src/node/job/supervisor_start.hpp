// From a prepared job to its supervisor's process.
#pragma once

#include "node/job/supervisor.hpp"

namespace dockdist::node {

// Makes the job's folder, its scratch, its log and its doors, and starts the supervisor, which does not end
// with the caller. What `job` holds is the supervisor's alone from then on. Where something fails nothing is
// left; conflict when there was a job of that name.
Status start_supervisor(PreparedJob job, std::int64_t log_limit);

} // namespace dockdist::node

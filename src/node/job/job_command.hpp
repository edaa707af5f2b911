// The client's commands for jobs.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init job start|follow|stop|list` (shared/wire/job.hpp). Returns the exit status.
int run_job(const std::vector<std::string>& arguments);

} // namespace dockdist::node

// The client's commands for jobs.
#pragma once

#include "node/accounts.hpp"
#include "node/environment.hpp"
#include "wire/job.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init job start|follow|stop|list` (wire/job.hpp). Returns the exit status.
int run_job(const std::vector<std::string>& arguments);

// Pure: what the job's command sees.
Environment job_environment(Environment container, const wire::JobRequest& request, const Account& account);

} // namespace dockdist::node

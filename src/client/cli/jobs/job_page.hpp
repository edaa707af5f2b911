// `run --report` and `jobs JOB --report`: a job's page, written from what its nodes have kept.
#pragma once

#include "client/cli/context.hpp"
#include "client/job/job_list.hpp"

#include <string>

namespace dockdist {

// Nodes that do not answer are told, and missing in the page. Errors: the file cannot be written.
Task<Status> write_job_page(Context& context, const Attached& cluster, KnownJob job, std::string path);

// The same of a job that has just ended, which the nodes are asked for.
Task<Status> write_page_of_ended(Context& context, const Attached& cluster, std::vector<ReadyNode> nodes,
                                 JobId job, std::string path);

} // namespace dockdist

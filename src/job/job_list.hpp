// Which jobs the nodes know. A job is known to the nodes that it ran on, and to nobody else.
#pragma once

#include "observe/observe.hpp"
#include "wire/job.hpp"

#include <vector>

namespace dockdist {

struct KnownPart {
    ReadyNode node{};
    wire::JobSummary summary{};
};

struct KnownJob {
    JobId job{};
    std::vector<KnownPart> parts{}; // where it ran, in rank order
};

struct JobList {
    std::vector<KnownJob> jobs{}; // the latest last
    Errors errors{};              // of the nodes that did not answer
};

// Asks all nodes side by side.
Task<JobList> list_jobs(const Engines& engines, const std::vector<ReadyNode>& nodes);

// The job of this name, or the latest one when `job` is empty. not_found, with the names there are, when
// there is none.
Result<KnownJob> choose_job(const std::vector<KnownJob>& jobs, const JobId& job);

} // namespace dockdist

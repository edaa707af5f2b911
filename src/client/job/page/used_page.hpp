// Who used what in a span of time, as one self-contained HTML page: by user, job and node, the GPUs that were
// held over the time, and the jobs. Pure.
#pragma once

#include "client/job/page/job_page.hpp"
#include "client/job/used.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Of the facts the cluster, the time and the version. `jobs`: all on record.
std::string used_page(const std::vector<JobReport>& jobs, const Span& span, const JobPageFacts& facts);

} // namespace dockdist

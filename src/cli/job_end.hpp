// How a job's end is told, and the exit code that it means.
#pragma once

#include "cli/context.hpp"
#include "job/job_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace dockdist {

// The first failure, how the job was stopped, what dockdist could not do; with -o json the result as the last
// line. 130 when interrupted, else the job's own code, else 125 where there are errors.
int tell_end(const Context& context, const JobOutcome& outcome, const JobId& job);

// What is wrong before a job runs or is found: 2 for a wrong command line or file, else 125.
int fail_before(const Context& context, const Errors& errors);

nlohmann::json to_json(const JobFailure& failure);

} // namespace dockdist

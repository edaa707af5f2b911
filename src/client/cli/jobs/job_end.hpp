// How a job's end is told, and the exit code that it means.
#pragma once

#include "client/cli/context.hpp"
#include "shared/job_state/job_end.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <optional>

namespace dockdist {

// What end_errors() has to say and, of a job that did not end well, what else became of it on its nodes; then
// the last line, "night: failed after 3 s, exit code 7", with -o json the result. `ran`: for how long; not
// known of a job that was started elsewhere. Returns the process's exit code.
using Ran = std::optional<std::chrono::milliseconds>;
int tell_end(const Context& context, const JobOutcome& outcome, const JobId& job, Ran ran = {});

// The result line of `run`, `attach` and `wait`.
nlohmann::json end_json(const JobOutcome& outcome, const JobId& job, Ran ran = {});

// What is wrong before a job runs or is found: 2 for a wrong command line or file, 75 where others have the
// GPUs, else 125.
int fail_before(const Context& context, const Errors& errors);

} // namespace dockdist

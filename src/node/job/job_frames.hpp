// Frames that are not output: errors, events, and the end of a job.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/job.hpp"

#include <string>

namespace dockdist::node {

std::string error_frame(const Error& error);
void print_error(const Error& error); // as a frame on stdout
void print_event(const wire::JobEvent& event);

// How a job ended whose supervisor does not run: what it left on record; and when it was killed before it
// could (reason "lost"), everything that bears the job's mark is ended first. `why`: where it is known.
wire::JobResult lost_result(const std::string& why = {});
wire::JobResult result_without_supervisor(const std::string& job);
// In place of a record that is empty, cut off or no record at all.
wire::JobSummary damaged_summary(const std::string& job, const Error& why);
void record_lost(const std::string& job, const std::string& why = {}); // unless its record tells of its end

} // namespace dockdist::node

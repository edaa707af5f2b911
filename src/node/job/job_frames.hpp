// Frames that are not output: errors, events, and the end of a job.
#pragma once

#include "core/result.hpp"
#include "wire/job.hpp"

#include <string>

namespace dockdist::node {

std::string error_frame(const Error& error);
void print_error(const Error& error); // as a frame on stdout
void print_event(const wire::JobEvent& event);

// How a job ended whose supervisor does not run: what it left on record; and when it was killed before it
// could (reason "lost"), everything that bears the job's mark is ended first.
wire::JobResult lost_result();
wire::JobResult result_without_supervisor(const std::string& job);

} // namespace dockdist::node

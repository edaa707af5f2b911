// A client's view of a running or ended job: its output as frames.
#pragma once

#include <cstdint>
#include <string>

namespace dockdist::node {

// The process behind one exec of the client: copies the job's log from `position` to stdout as it grows, with
// the control frames between, and carries the client's lines (those already read first) to the supervisor.
// Ends after `exited`, with 0, or when nobody reads any more.
int follow_job(const std::string& job, std::uint64_t position, std::string already_read);

} // namespace dockdist::node

// A client's view of a running or ended job: its output as frames.
#pragma once

#include "shared/wire/job_query.hpp"

#include <string>

namespace dockdist::node {

// The process behind one exec of the client: copies what the query asks for of the job's log to stdout as it
// grows, with the control frames between, and carries the client's lines (those already read first) to the
// supervisor. Ends after `exited`, with 0, or when nobody reads any more; and where the query does not go to
// the job's end, after the output that is there.
int follow_job(const wire::JobQuery& query, std::string already_read);

} // namespace dockdist::node

// pkill, as launchers call it to end what they have started.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `pkill [-SIGNAL] -f PATTERN` within a job: signals those of the job's own processes whose command line
// matches the extended regular expression, and no others. By itself pkill would end every job whose processes
// look alike; DeepSpeed's runner calls it on every node when it is stopped. Returns pkill's codes: 0 some
// matched, 1 none, 2 wrong usage.
int run_pkill_in_job(const std::string& job, const std::vector<std::string>& arguments);

// Whether the arguments are of that form.
bool is_pkill_by_pattern(const std::vector<std::string>& arguments);

} // namespace dockdist::node

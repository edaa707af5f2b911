// A batch job of Slurm's, from the queue to its end.
#pragma once

#include "client/cli/context.hpp"

#include <string>

namespace dockdist {

// Says what it waits for, prints what it writes, and answers with its exit code; see submit().
Task<int> follow_batch_job(Context& context, std::string id);

} // namespace dockdist

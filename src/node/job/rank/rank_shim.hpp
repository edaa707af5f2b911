// One rank of a job, started by a launcher.
#pragma once

#include "node/system/environment.hpp"

namespace dockdist::node {

// `dockdist-init rank`: this node's rank command (shared/wire/job.hpp), for the job whose mark stands in
// `own`, the environment that the launcher gave. It runs as a child in a process group of its own; its output
// goes straight to the job's supervisor on this node, with the rank on it, and so does its true exit status,
// at once. Where the supervisor is gone, it just inherits. Ends as the command ended: same code, same signal;
// 125 where this node has no part of the job. When the command has failed, or the job ends, that is only when
// the supervisor has ended all ranks of its node: what it launched would end them in its own way. The rank is
// told to end once, by whoever is the first (node/system/hearers.hpp).
int run_rank(Environment own);

} // namespace dockdist::node

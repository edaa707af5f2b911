// Jobs of a node whose dockdist had no store yet: a client has put their folders into paths().incoming_jobs,
// as they stood in the node's old container, and they become jobs of this node.
#pragma once

#include "shared/core/result.hpp"

namespace dockdist::node {

// Reads lines of `from`, "whole JOB" or "record JOB", the latter of a job whose output has not come or not
// all of it. Writes a line "JOB: why" for each that is not taken: there is one of that name, or its record is
// damaged. What is taken is on the disk when it returns; what else stands there is removed.
Status adopt_jobs(int from, int to);

} // namespace dockdist::node

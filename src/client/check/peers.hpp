// Whether every node logs in to those that it was to try.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"

#include <vector>

namespace dockdist {

// One row when all is well. A node that several others do not get into has one row for all of them.
std::vector<CheckRow> judge_logins(const std::vector<CheckedNode>& nodes);

} // namespace dockdist

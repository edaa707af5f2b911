// The NVLink fabric of a node's GPUs: ready, and with a way to the other hosts that it leads to.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "shared/wire/job.hpp"

#include <optional>
#include <vector>

namespace dockdist {

// The programs whose output judge_fabric reads.
std::vector<wire::Question> fabric_questions();

// Nothing of GPUs without one, and where the driver does not tell.
std::optional<CheckRow> judge_fabric(const CheckedNode& node);

} // namespace dockdist

// The collective layer of a deep check: NCCL between the nodes' GPUs, by dockdist-probe.
#pragma once

#include "client/check/report/report.hpp"
#include "client/observe/observe.hpp"
#include "client/report/event.hpp"

#include <chrono>
#include <optional>

namespace dockdist {

// `nodes` stand in the order of CheckReport::nodes. Each node alone, the pairs in rounds, then all; a node
// that fails alone is left out of the rest. Adds rows and CheckReport::collectives. Without GPUs one row says
// so. `stage_timeout` stands in for each stage's own.
Task<void> check_collective(const std::vector<ReadyNode>& nodes, const Engines& engines,
                            std::optional<std::chrono::milliseconds> stage_timeout, Reporter& reporter,
                            CheckReport& report);

} // namespace dockdist

// What a deep check measures with NCCL, in which order, and how long each may take. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

struct ProbeStage {
    enum class Kind { alone, pairs, all };
    Kind kind = Kind::alone;
    std::string name{}; // "each node alone", "pairs of nodes, round 1 of 3", "all nodes"
    // Nodes that are one world, side by side with the other groups of the stage.
    std::vector<std::vector<std::size_t>> groups{};
    nlohmann::json order{}; // for run_probes
    std::chrono::milliseconds deadline{};
};

// `nodes` are those that have GPUs and, from the pairs on, that got through alone. The pairs of two nodes are
// all of them: that is the last stage.
ProbeStage alone_stage(const std::vector<std::size_t>& nodes);
std::vector<ProbeStage> pair_stages(const std::vector<std::size_t>& nodes);
ProbeStage all_stage(const std::vector<std::size_t>& nodes); // of two nodes or more

} // namespace dockdist

#include "client/check/probe_stages.hpp"

#include "shared/measurement/pair_rounds.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

// Up to what saturates any link and, in a node of eight, what known measurements were measured with; the
// probe leaves out what does not fit the memory, or its share of the time.
nlohmann::json full_order() {
    return {{"sizes",
             {1U << 10U, 8U << 10U, 64U << 10U, 512U << 10U, 4U << 20U, 32U << 20U, 256U << 20U, 1U << 30U,
              std::uint64_t{8} << 30U}},
            {"operations",
             {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_receive"}},
            {"types", {"float", "bf16"}},
            {"iterations", 20},
            {"warm_up", 3},
            {"series_ms", 4000}};
}

// Enough to compare the pairs with each other.
nlohmann::json pair_order() {
    return {{"sizes", {1U << 20U, 16U << 20U, 128U << 20U}},
            {"operations", {"all_reduce"}},
            {"types", {"float"}},
            {"iterations", 20},
            {"warm_up", 3},
            {"series_ms", 3000}};
}

} // namespace

ProbeStage alone_stage(const std::vector<std::size_t>& nodes) {
    ProbeStage stage{
        .kind = ProbeStage::Kind::alone, .name = "each node alone", .order = full_order(), .deadline = 180s};
    for (const auto node : nodes) {
        stage.groups.push_back({node});
    }
    return stage;
}

std::vector<ProbeStage> pair_stages(const std::vector<std::size_t>& nodes) {
    std::vector<ProbeStage> stages;
    if (nodes.size() < 3) {
        return stages;
    }
    const auto rounds = pair_rounds(nodes.size());
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        auto& stage = stages.emplace_back(
            ProbeStage{.kind = ProbeStage::Kind::pairs,
                       .name = fmt::format("pairs of nodes, round {} of {}", round + 1, rounds.size()),
                       .order = pair_order(),
                       .deadline = 60s});
        for (const auto& [first, second] : rounds[round]) {
            stage.groups.push_back({nodes[first], nodes[second]});
        }
    }
    return stages;
}

ProbeStage all_stage(const std::vector<std::size_t>& nodes) {
    return {.kind = ProbeStage::Kind::all,
            .name = "all nodes",
            .groups = {nodes},
            .order = full_order(),
            .deadline = 240s};
}

} // namespace dockdist

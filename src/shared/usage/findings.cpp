#include "shared/usage/findings.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/median.hpp"
#include "shared/load/findings.hpp"
#include "shared/usage/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace dockdist {
namespace {

using wire::Figure;

constexpr std::int64_t least_ms = 30'000; // measured for less, nothing is said
constexpr double waits_below = 50;        // percent of the time: mostly waiting
constexpr double less_than_others = 20;   // points of load below the others' median

bool is_long_enough(const std::vector<NodeUsage>& usage) {
    return std::ranges::any_of(usage,
                               [](const NodeUsage& node) { return node.usage.duration_ms >= least_ms; });
}

// Of a node in reserve, which waits for its turn, it says nothing.
const wire::FigureUse* load_of(const NodeUsage& node) {
    const auto found =
        std::ranges::find(node.usage.figures, Figure::gpu_utilization, &wire::FigureUse::figure);
    return node.spare || found == node.usage.figures.end() ? nullptr : &*found;
}

bool is_spare(const NodeName& node, const std::vector<NodeUsage>& usage) {
    return std::ranges::any_of(usage,
                               [&](const NodeUsage& other) { return other.spare && other.node == node; });
}

// GPUs that did nothing from the first point to the last, while others of the job worked.
void find_resting(const std::vector<NodeUsage>& usage, const std::vector<NodeHistory>& histories,
                  std::vector<std::string>& found) {
    std::map<std::string, std::vector<std::string>> nodes; // "GPU 2,3" → nodes
    bool others_worked = false;
    for (const auto& [node, history] : histories) {
        if (is_spare(node, usage)) {
            continue;
        }
        std::vector<int> resting;
        for (const auto& [curve, step_ms] : curves_of(history, Figure::gpu_utilization)) {
            const bool worked = std::ranges::any_of(
                curve->points, [](const auto& point) { return point && point->most > 0; });
            others_worked = others_worked || worked;
            if (!worked) {
                resting.push_back(curve->gpu);
            }
        }
        if (!resting.empty()) {
            nodes[fmt::format("GPU {}", fmt::join(resting, ","))].push_back(node.str());
        }
    }
    if (!others_worked) {
        if (!nodes.empty()) {
            found.emplace_back("no GPU of the job did anything");
        }
        return;
    }
    for (const auto& [gpus, which] : nodes) {
        found.push_back(fmt::format("{} of {} did nothing all the time", gpus, list_names(which)));
    }
}

void find_slow_nodes(const std::vector<NodeUsage>& usage, std::vector<std::string>& found) {
    std::vector<double> loads;
    for (const auto& node : usage) {
        if (const auto* load = load_of(node)) {
            loads.push_back(load->mean);
        }
    }
    if (loads.size() < 2) {
        return;
    }
    const auto others = upper_median(loads); // of two the busier one
    for (const auto& node : usage) {
        const auto* load = load_of(node);
        if (load != nullptr && others - load->mean >= less_than_others) {
            found.push_back(
                fmt::format("the GPUs of {} were busy {:.0f} % of the time, those of others {:.0f} %",
                            node.node.str(), load->mean, others));
        }
    }
}

} // namespace

std::vector<wire::Finding> recorded_findings(const std::vector<NodeUsage>& usage) {
    std::vector<wire::Finding> found;
    for (const auto& node : usage) {
        if (node.spare) {
            continue;
        }
        for (const auto& finding : node.usage.findings) {
            found.push_back(finding);
            found.back().node = node.node.str();
        }
    }
    sort_findings(found);
    return found;
}

std::vector<std::string> findings(const std::vector<NodeUsage>& usage,
                                  const std::vector<NodeHistory>& histories) {
    std::vector<std::string> found;
    const bool judged = is_long_enough(usage);
    if (judged) {
        find_resting(usage, histories, found);
    }
    std::ranges::move(findings_text(recorded_findings(usage)), std::back_inserter(found));
    if (!judged) {
        return found;
    }
    find_slow_nodes(usage, found);
    const auto sum = sum_usage(usage);
    if (const auto* load = sum.find(Figure::gpu_utilization);
        load != nullptr && load->mean < waits_below && load->peak > 0) {
        found.push_back(
            fmt::format("the GPUs were busy {:.0f} % of the time: they waited for the rest (data, "
                        "the CPU, checkpoints, other nodes)",
                        load->mean));
    }
    return found;
}

} // namespace dockdist

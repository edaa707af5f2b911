#include "client/plan/ending_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dockdist {
namespace {

struct Ending {
    NodeName node{};
    ContainerState state{};
    std::string what{}; // "node-1 would be recreated: the image changed"
};

// The nodes that go and may have work on them.
std::map<ContainerId, Ending> ending_nodes(const ObservedCluster& observed, const Plan& plan) {
    std::map<ContainerId, Ending> ending;
    auto goes = plan.removals;
    for (const auto& create : plan.creates) {
        if (create.replaces) {
            goes.push_back({create.host, create.replaces->id, create.replaces->name, create.cause});
        }
    }
    for (const auto& removal : goes) {
        const auto& nodes = observed.hosts[removal.host].nodes;
        const auto node = std::ranges::find(nodes, removal.id, &ObservedNode::id);
        if (node == nodes.end() ||
            (node->state != ContainerState::running && node->state != ContainerState::paused)) {
            continue;
        }
        const bool anew = std::ranges::any_of(
            plan.creates, [&](const CreateNode& one) { return one.node.name == node->node; });
        ending[node->id] = {node->node, node->state,
                            fmt::format("{} would be {}: {}", node->node.str(),
                                        anew ? "recreated" : "removed", removal.cause)};
    }
    return ending;
}

void check_silent(const std::map<ContainerId, Ending>& ending, const Errors& silent, bool stop_jobs,
                  PlanResult& result) {
    for (const auto& silence : silent) {
        const bool goes = std::ranges::any_of(
            ending, [&](const auto& one) { return one.second.node.str() == silence.where; });
        if (goes && stop_jobs) {
            result.warnings.push_back(goes_on_unasked(silence));
        } else if (goes) {
            result.errors.push_back(may_end_jobs(silence));
        }
    }
}

} // namespace

void check_jobs(const ObservedCluster& observed, bool stop_jobs, PlanResult& result) {
    const auto ending = ending_nodes(observed, result.plan);
    if (ending.empty()) {
        return;
    }
    if (!observed.jobs) {
        result.wanted.jobs = true;
        return;
    }
    const bool nothing_else = result.errors.empty();
    auto silent = observed.jobs->silent;
    for (const auto& [id, node] : ending) {
        if (node.state == ContainerState::paused) {
            silent.push_back(paused_node(node.node));
        }
    }
    check_silent(ending, silent, stop_jobs, result);
    for (const auto& job : observed.jobs->jobs) {
        const auto part =
            std::ranges::find_if(job.parts, [&](const auto& one) { return ending.contains(one.id); });
        if (part == job.parts.end()) {
            continue;
        }
        const auto& what = ending.at(part->id).what;
        if (stop_jobs) {
            result.plan.stops.push_back({job, to_text(job) + ": " + what});
        } else {
            result.errors.push_back(would_end(job, what));
        }
    }
    result.jobs_in_way = nothing_else && !result.errors.empty();
}

void warn_of_moves(const ObservedCluster& observed, PlanResult& result) {
    std::set<NodeName> moved;
    for (const auto& join : result.plan.joins) {
        if (join.elsewhere) {
            moved.insert(join.node.name);
        }
    }
    if (moved.empty()) {
        return;
    }
    if (!observed.jobs) {
        result.wanted.jobs = true;
        return;
    }
    for (const auto& job : observed.jobs->jobs) {
        const auto part =
            std::ranges::find_if(job.parts, [&](const auto& one) { return moved.contains(one.node); });
        if (part != job.parts.end()) {
            result.warnings.push_back(
                {ErrorKind::conflict, job.job.str(),
                 fmt::format(
                     "{}: it keeps using the addresses that it started with, though {} gets another one",
                     to_text(job), part->node.str()),
                 "keep the old network up until it is over; what starts from now on uses the new one"});
        }
    }
}

} // namespace dockdist

#include "cluster/plan_changes.hpp"

#include "job/running_jobs.hpp"

namespace dockdist {

Task<PlanResult> plan_changes(const ClusterSpec& spec, const Engines& engines, ObservedCluster& observed,
                              PlanContext context) {
    auto result = make_plan(spec, observed, context);
    if (!result.errors.empty() || !result.wanted.jobs) {
        co_return result;
    }
    std::vector<ReadyNode> nodes;
    for (std::size_t host = 0; host < observed.hosts.size(); ++host) {
        for (const auto& node : observed.hosts[host].nodes) {
            if (node.state == ContainerState::running) {
                nodes.push_back(door_of(host, node));
            }
        }
    }
    observed.jobs = co_await find_running_jobs(engines, nodes);
    co_return make_plan(spec, observed, context);
}

} // namespace dockdist

#include "client/cluster/plan_changes.hpp"

#include "client/async/cleanup.hpp"
#include "client/cluster/gpu_survey.hpp"
#include "client/job/running_jobs.hpp"
#include "client/observe/ask_members.hpp"
#include "client/plan/architecture.hpp"

#include <set>

namespace dockdist {

Task<PlanResult> plan_changes(const ClusterSpec& spec, const Engines& engines, ObservedCluster& observed,
                              PlanContext context) {
    auto result = make_plan(spec, observed, context);
    if (!result.errors.empty() || !(result.wanted.jobs || result.wanted.members)) {
        co_return result;
    }
    std::vector<ReadyNode> nodes;
    std::set<ContainerId> known; // two hosts of the file may be one engine
    for (std::size_t host = 0; host < observed.hosts.size(); ++host) {
        for (const auto& node : observed.hosts[host].nodes) {
            if (node.state == ContainerState::running && known.insert(node.id).second) {
                nodes.push_back(door_of(host, node));
            }
        }
    }
    if (result.wanted.jobs) {
        observed.jobs = co_await find_running_jobs(engines, nodes);
    }
    if (result.wanted.members) {
        observed.known = co_await ask_members(engines, std::move(nodes));
    }
    co_return make_plan(spec, observed, context);
}

Task<PlanResult> plan_with_look(const ClusterSpec& spec, const Engines& engines, ObservedCluster& observed,
                                PlanContext context, Reporter& reporter) {
    auto result = co_await plan_changes(spec, engines, observed, context);
    auto& hosts = result.wanted.looks;
    std::erase_if(hosts, [&](std::size_t host) {
        const auto& seen = observed.hosts[host];
        return !has_toolkit(seen, toolkit_of(context.toolkits, spec.image, seen));
    });
    if (!result.errors.empty() || hosts.empty()) {
        co_return result;
    }
    GpuSurvey look(spec, engines,
                   {.toolkits = context.toolkits, .attempt = context.attempt, .origin = context.origin});
    auto errors =
        co_await with_cleanup(look.take(observed, hosts, reporter), [&look]() { return look.give_back(); });
    if (!errors.empty()) {
        co_return PlanResult{.errors = std::move(errors)};
    }
    co_return co_await plan_changes(spec, engines, observed, context);
}

} // namespace dockdist

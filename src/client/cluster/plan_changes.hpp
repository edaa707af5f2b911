// From what was seen to a plan: what the plan asks for beyond the first look is looked at, too.
#pragma once

#include "client/observe/observe.hpp"
#include "client/plan/plan.hpp"

namespace dockdist {

// make_plan. Where running nodes would go, it costs one exec in each node that runs: `observed` has the jobs
// then. Where nodes that stay are to meet others, it costs one in a few of them: it has whom they know.
Task<PlanResult> plan_changes(const ClusterSpec& spec, const Engines& engines, ObservedCluster& observed,
                              PlanContext context);

// The same, and chooses GPUs as `up` would; on hosts that lack the image or the toolkit nobody can look. The
// container that looks is gone afterwards, whatever happens.
Task<PlanResult> plan_with_look(const ClusterSpec& spec, const Engines& engines, ObservedCluster& observed,
                                PlanContext context, Reporter& reporter);

} // namespace dockdist

// What a plan would destroy: asked of the hosts, before anything is changed.
#pragma once

#include "client/observe/observe.hpp"
#include "client/plan/plan.hpp"

namespace dockdist {

// Fills in `lost` of what `plan` replaces and removes; two requests for each such container.
Task<void> find_losses(const Engines& engines, Plan& plan, ComesAgain comes_again);

// What was found, one for each container.
Errors losses_of(const Plan& plan, const ClusterSpec& spec);

} // namespace dockdist

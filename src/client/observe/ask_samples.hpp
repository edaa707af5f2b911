// How busy the nodes are, as they tell it over and over (shared/wire/sample.hpp).
#pragma once

#include "client/observe/observe.hpp"
#include "shared/wire/sample.hpp"

#include <functional>

namespace dockdist {

// Tells `hear` each sample with the facts that it is of. Returns when the node says no more: at its own end,
// or when it has been silent for some intervals.
Task<Error> follow_samples(ContainerEngine& engine, const ReadyNode& node, int interval_ms,
                           std::function<void(const wire::SampleFacts&, wire::Sample)> hear);

} // namespace dockdist

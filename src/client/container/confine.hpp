// The fewest rights that any engine can give a container.
#pragma once

#include "client/container/types.hpp"

namespace dockdist {

// For containers that serve dockdist alone: no capability, none to be gained, few processes and threads, an
// image that nobody writes to. What they write to is a volume.
void confine(ContainerConfig& config);

// Of any container that is to be started: where its engine can start none that may gain no privileges, it
// may. Docker's snap cannot: AppArmor then keeps processes from changing from the snap's profile to a
// container's.
bool starts_without_gains(const EngineInfo& engine);
void fit(ContainerConfig& config, const EngineInfo& engine);

} // namespace dockdist

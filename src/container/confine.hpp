// The fewest rights that any engine can give a container.
#pragma once

#include "container/types.hpp"

namespace dockdist {

// For containers that serve dockdist alone: no capability, none to be gained, few processes and threads, an
// image that nobody writes to. What they write to is a volume.
void confine(ContainerConfig& config);

} // namespace dockdist

// The toolkits, compressed, inside the client's own executable.
#pragma once

#include "shared/core/toolkits.hpp"

namespace dockdist {

// Those that this build has. A tar is uncompressed when it is first asked for, once.
const Toolkits& toolkits();

// That of the client's own architecture, which every build has.
const Toolkit& own_toolkit();

} // namespace dockdist

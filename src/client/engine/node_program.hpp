// What a node behind srun runs as its end of the tunnel.
#pragma once

#include "shared/core/result.hpp"

#include <functional>
#include <memory>
#include <string>

namespace dockdist {

// dockdist-init for a node that is such a machine (`uname -m`), as bytes. Errors: config, where there is
// none.
using NodeProgram = std::function<Result<std::shared_ptr<const std::string>>(const std::string& machine)>;

} // namespace dockdist

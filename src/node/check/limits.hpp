// The resource limits of a job's process that came over ssh: sshd's sessions have their own.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_facts.hpp"

namespace dockdist::node {

wire::SessionLimits own_limits(); // this process's
// Of a session after a login of this node to itself.
Result<wire::SessionLimits> session_limits();

int run_limits(); // `dockdist-init limits`: prints own_limits()

} // namespace dockdist::node

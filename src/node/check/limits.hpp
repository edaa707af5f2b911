// The resource limits of a job's process that came over ssh: sshd's sessions have their own.
#pragma once

#include <nlohmann/json.hpp>

namespace dockdist::node {

// This process's: {"memlock":SOFT,"nofile":…,"stack":…,"nproc":…}, bytes or counts, -1: unlimited.
nlohmann::json own_limits();
// The same, of a session after a login of this node to itself.
nlohmann::json session_limits();

int run_limits(); // `dockdist-init limits`: prints own_limits()

} // namespace dockdist::node

// One node's part of what srun runs: `dockdist-init step`, at the other end of srun's ssh.
#pragma once

namespace dockdist::node {

// Speaks step_messages.hpp on stdin and stdout. Returns when nothing of the step is left here.
int run_step_part();

} // namespace dockdist::node

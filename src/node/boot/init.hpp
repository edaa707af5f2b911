// The container's first process.
#pragma once

namespace dockdist::node {

// dockdist-init as the container's first process. Returns its exit status when the engine has ended it;
// refuses (2) when it is not process 1, as its last act is to end every process it can see.
int run_init();

} // namespace dockdist::node

// What a node tells of its GPUs, and of who has them.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init gpus [--watch] [--in-use MIB]` (wire::GpuReport). Returns the exit status.
int run_gpus(const std::vector<std::string>& arguments);

} // namespace dockdist::node

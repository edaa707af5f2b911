// How many GPUs this container sees, a split one by its MIG instances.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// GPUs that this container sees: what nvidia-smi lists, or without one (or when it hangs) the device files.
int count_gpus();

// Pure part.
int count_gpu_devices(const std::vector<std::string>& dev_entries); // names in /dev

} // namespace dockdist::node

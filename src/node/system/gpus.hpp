// How many GPUs this container sees, a split one by its MIG instances.
#pragma once

#include "node/system/environment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// GPUs that this container sees: what nvidia-smi lists, or without one (or when it hangs) the device files;
// or AMD's.
int count_gpus();

// What chooses among them for a process: CUDA_VISIBLE_DEVICES, and where that is not set
// ROCR_VISIBLE_DEVICES.
std::optional<std::string> visible_to(const Environment& environment);

// Pure part.
int count_gpu_devices(const std::vector<std::string>& dev_entries); // names in /dev

} // namespace dockdist::node

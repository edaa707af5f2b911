// How many GPUs this container sees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// GPUs that this container sees: what nvidia-smi lists, or without one (or when it hangs) the device files.
int count_gpus();

// Pure parts.
int count_listed_gpus(std::string_view nvidia_smi_output);          // `nvidia-smi -L`
int count_gpu_devices(const std::vector<std::string>& dev_entries); // names in /dev

} // namespace dockdist::node

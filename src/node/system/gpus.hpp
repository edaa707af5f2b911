// How many GPUs this container sees, a split one by its MIG instances.
#pragma once

#include "node/system/environment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

inline constexpr int nvidia_smi_limit_ms = 5000; // it hangs when a GPU has fallen off its bus

// GPUs that this container sees: what nvidia-smi lists, or without one (or when it hangs) the device files;
// or AMD's.
int count_gpus();

// Whether a process's GPUs are AMD's, as its environment has it.
bool has_amd_gpus(const Environment& environment);
// What a process sees of them: CUDA_VISIBLE_DEVICES; of AMD's HIP_VISIBLE_DEVICES or else that, among those
// of ROCR_VISIBLE_DEVICES. Nothing where nothing chooses.
std::optional<std::string> visible_to(const Environment& environment);
std::string choosing_variable(const Environment& environment); // which of them says it
// Makes a process see these, of those that its node has.
void show_gpus(Environment& environment, const std::string& list);

// Pure part.
int count_gpu_devices(const std::vector<std::string>& dev_entries); // names in /dev

} // namespace dockdist::node

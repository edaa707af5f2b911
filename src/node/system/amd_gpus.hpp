// AMD's GPUs that this container sees, from the files of their driver: images need no tool for it.
//
//   /sys/class/kfd/kfd/topology/nodes/N/properties       which there are (gpu/kfd.hpp), in ROCm's order; the
//   kernel
//                                                        shows those alone whose device the container may
//                                                        open
//   /sys/class/drm/renderDM/device/                      Documentation/gpu/amdgpu: product_name,
//   gpu_busy_percent,
//     mem_info_vram_{total,used} (bytes), ras/umc_err_count
//     hwmon/hwmonK/                                      power1_average or power1_input, power1_cap (µW),
//                                                        temp1_input (1/1000 °C), freq1_input (Hz)
#pragma once

#include "gpu/gpu.hpp"
#include "wire/sample.hpp"

#include <vector>

namespace dockdist::node {

struct AmdGpu {
    Gpu gpu{};
    wire::GpuInventory inventory{}; // the same for samples
    wire::GpuSample figures{};
};
std::vector<AmdGpu> look_at_amd_gpus(); // at most wire::most_sampled_gpus

// Lets every user of the container open them, as NVIDIA's are: theirs are of a group of the host, which an
// image does not know. Of the container's own device files.
void open_amd_gpus_to_all();

} // namespace dockdist::node

// AMD's GPUs that this container sees, from the files of their driver: images need no tool for it.
//
//   /sys/class/kfd/kfd/topology/nodes/N/properties       which there are (shared/gpu/kfd.hpp), in ROCm's
//   order; the kernel
//                                                        shows those alone whose device the container may
//                                                        open
//   /sys/class/drm/renderDM/device/                      Documentation/gpu/amdgpu: product_name,
//   gpu_busy_percent,
//     mem_info_vram_{total,used} (bytes), ras/umc_err_count
//     hwmon/hwmonK/                                      power1_average or power1_input, power1_cap (µW),
//                                                        temp1_input (1/1000 °C), freq1_input (Hz)
#pragma once

#include "node/system/user_mounts.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/wire/sample.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

struct AmdGpu {
    Gpu gpu{};
    wire::GpuInventory inventory{}; // the same for samples
    wire::GpuSample figures{};
};
// At most wire::most_sampled_gpus; none where the file does not ask for any (amd_asked_variable), as a
// privileged container sees its host's all the same. `with_errors`: those of their memory too, which the
// driver has to ask the GPU for.
std::vector<AmdGpu> look_at_amd_gpus(bool with_errors = true);

// Lets every user of the container open them, as NVIDIA's are: theirs are of a group of the host, which an
// image does not know. Of the container's own device files alone: others are the host's.
void open_amd_gpus_to_all(const UserMounts& mounts);

// Whether a device file was made for this container: in its own /dev (`dev`), in no mount, and no link.
bool is_own_device(const std::string& path, const std::string& dev, const UserMounts& mounts);

} // namespace dockdist::node

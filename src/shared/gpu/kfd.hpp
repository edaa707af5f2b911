// AMD's GPUs as the amdgpu driver tells of them: /sys/class/kfd/kfd/topology/nodes/N/properties, a line
// `name value` each (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct KfdGpu {
    std::string uuid{};   // "GPU-" and sixteen hex digits, as ROCm calls it; empty where it has no number
    std::string kind{};   // "gfx942"
    int render_minor = 0; // of /dev/dri/renderDN
    bool operator==(const KfdGpu&) const = default;
};
// Nothing of a node that is no GPU of AMD's, and of one that cannot be opened.
std::optional<KfdGpu> parse_kfd(std::string_view properties);

// "ue: 3" of ras/umc_err_count: memory errors that could not be corrected.
std::optional<std::int64_t> parse_ras(std::string_view text);

// In the environment of a node whose file asks for them: others see the host's by chance, if at all.
inline constexpr const char* amd_asked_variable = "DOCKDIST_AMD_GPUS";

// Whether a unit's id is one of theirs; NVIDIA's UUIDs have hyphens.
bool is_amd_uuid(std::string_view id);

// What makes a list of GPUs visible: CUDA's variable, or for AMD's UUIDs that of ROCm, which does not know
// them in another.
inline constexpr const char* rocm_devices_variable = "ROCR_VISIBLE_DEVICES";
// Of HIP, which knows CUDA's as well, after its own. Both count among those of ROCm's.
inline constexpr const char* hip_devices_variable = "HIP_VISIBLE_DEVICES";
// What `inner` shows of `outer`: "1" of "GPU-a,GPU-b" is "GPU-b". Up to the first word that names none.
std::string devices_within(std::string_view outer, std::string_view inner);
const char* devices_variable_for(std::string_view visible);

} // namespace dockdist

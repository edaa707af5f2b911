// What of NVIDIA's driver a node with GPUs is given: NVIDIA_DRIVER_CAPABILITIES, which NVIDIA's hook reads
// from the container's environment. Without `utility` there is no nvidia-smi in it, without `compute` no
// libcuda. CDI files do not ask for it.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
#pragma once

#include "client/plan/engine_abilities.hpp"
#include "client/spec/cluster_spec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

inline constexpr const char* driver_capabilities_variable = "NVIDIA_DRIVER_CAPABILITIES";

// "compute", "utility" or both, with a comma: those of them that `capabilities` does not hold.
std::string lacking_capabilities(std::string_view capabilities);

inline constexpr const char* needed_capabilities = "compute,utility";

// What a node is to be given where the file does not say it and its image says too little: that, and what is
// needed. Else empty. `image`: null while it is not there yet.
std::string driver_capabilities(const ImageDetails* image);
// Whether the image says nothing, and the hook gives a node what is needed, or less.
bool gets_default_capabilities(const ImageDetails* image);

// What is to be said of them on a host with GPUs by NVIDIA's hook: its image asks for too little, and gets
// more; or the file does, and gets that.
std::optional<EngineRemark> judge_capabilities(const ClusterSpec& spec, const HostSpec& host,
                                               const ImageDetails* image);

// Of an image's environment.
std::optional<std::string> image_value(const ImageDetails* image, std::string_view name);

} // namespace dockdist

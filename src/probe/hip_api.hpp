// The part of AMD's HIP that answers to what the probe uses of the CUDA driver API: the same calls with the
// same arguments and codes ("HIP Runtime API Reference", hip_runtime_api.h), from libamdhip64.so. Its RCCL
// has NCCL's functions by NCCL's names.
#pragma once

#include "probe/cuda_api.hpp"

namespace dockdist::probe {

// ErrorKind::not_found where there is none, or functions are missing in it.
Result<CudaApi> open_hip(const std::vector<std::string>& paths);

// Whether a library that somebody names is this one.
bool is_hip(std::string_view path);

} // namespace dockdist::probe

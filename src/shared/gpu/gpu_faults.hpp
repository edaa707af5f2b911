// What nvidia-smi knows to be wrong with a job's GPUs: one that the driver says has to be reset, or its
// machine to be booted, and one that it no longer shows. Pure.
//
// An Xid's number is in the kernel's log alone, which a node may not read; the driver's own conclusion from
// it, the recovery action (NVML's field 230), stands in `nvidia-smi -q` of R580. Older drivers leave it out.
#pragma once

#include "shared/wire/gpus.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

std::vector<std::string> gpu_faults_command(); // `nvidia-smi -q`, of all GPUs

// A sentence for each of `units` that has one; an instance of a split GPU has none. Nothing where the log
// shows no GPU at all.
std::vector<std::string> parse_gpu_faults(std::string_view log, const std::vector<wire::GpuUnit>& units);

} // namespace dockdist

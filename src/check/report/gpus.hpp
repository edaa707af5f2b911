// The GPUs that a node sees now, as nvidia-smi inside its container tells.
#pragma once

#include "core/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct GpuState {
    int index = 0;
    std::string uuid{}, name{}, driver{};
    // Empty where the driver answers [N/A] or [Not Supported].
    std::optional<double> memory_used_mib{}, memory_total_mib{}, utilization_percent{}, temperature_c{},
        power_w{};
};

// Arguments of nvidia-smi whose output parse_gpus reads.
std::vector<std::string> gpu_query();

// Lines of `--format=csv,noheader,nounits`. protocol error for a line of another shape.
Result<std::vector<GpuState>> parse_gpus(std::string_view csv);

// "12.4" from the header of the plain table; empty where it is not there.
std::string parse_cuda_version(std::string_view table);

} // namespace dockdist

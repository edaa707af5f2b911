// The GPUs of a machine as nvidia-smi tells them. Output: `--format=csv,noheader,nounits`, and `-L`.
#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct Gpu {
    int index = 0;
    std::string uuid{}, name{}, driver{};
    // Empty where the driver answers [N/A] or [Not Supported].
    std::optional<double> memory_used_mib{}, memory_total_mib{}, utilization_percent{}, temperature_c{},
        power_w{};
    std::optional<std::int64_t> uncorrected{}; // memory errors since the driver was loaded
    bool mig = false;                          // it is in MIG mode: only its instances can be used
};

// Arguments of nvidia-smi whose output parse_gpus reads: one call for all of it.
std::vector<std::string> gpu_query();
// protocol error for a line of another shape.
Result<std::vector<Gpu>> parse_gpus(std::string_view csv);

// MIG instances, from `nvidia-smi -L`: indented below their GPU.
struct MigInstance {
    std::string uuid{};    // MIG-…
    std::string profile{}; // "3g.40gb"
    int gpu = 0;           // index of its GPU
    int index = 0;         // on that GPU
};
std::vector<MigInstance> parse_mig(std::string_view listing);

} // namespace dockdist

// The GPUs of a machine as nvidia-smi tells them (shared/gpu/smi.hpp).
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct Gpu {
    int index = 0;
    std::string uuid{}; // "GPU-…"; empty where the driver does not tell it: nobody can name that one
    std::string name{}, driver{};
    // Empty where the driver answers [N/A], [Not Supported], [Unknown Error], or [Insufficient Permissions],
    // as it does for the memory of a GPU of whose MIG instances the container has some only.
    std::optional<double> memory_used_mib{}, memory_total_mib{}, utilization_percent{}, temperature_c{},
        power_w{};
    std::optional<std::int64_t> uncorrected{}; // memory errors since the driver was loaded
    bool mig = false;                          // it is in MIG mode: only its instances can be used
};

// In the order of the output. protocol error for half a line of figures, and where there are only words;
// beside GPUs, words are warnings.
Result<std::vector<Gpu>> parse_gpus(std::string_view csv);
// What nvidia-smi says, among its answers, of GPUs that it cannot reach any more: "Unable to determine the
// device handle for GPU0: 0000:3B:00.0: Unknown Error". It goes on with the others.
std::vector<std::string> lost_gpus(std::string_view output);
// What else it says, each once: "WARNING: infoROM is corrupted at gpu 0000:3B:00.0". The GPUs can be used.
std::vector<std::string> smi_warnings(std::string_view output);

// MIG instances, from `nvidia-smi -L`: indented below their GPU.
struct MigInstance {
    std::string uuid{};    // "MIG-…"; before R470 "MIG-GPU-…/7/0"
    std::string profile{}; // "3g.40gb"
    int gpu = 0;           // index of its GPU
    int index = 0;         // on that GPU
    bool operator==(const MigInstance&) const = default;
};
std::vector<MigInstance> parse_mig(std::string_view listing);

// How many devices `nvidia-smi -L` lists that a process can use: GPUs, a split one by its MIG instances.
int count_listed_gpus(std::string_view listing);

// "12.4" from the header of the plain table; empty where it is not there.
std::string parse_cuda_version(std::string_view table);

} // namespace dockdist

// What several GPUs are at together: those of a node, of a job, of a rank. Pure.
#pragma once

#include "client/top/top_model.hpp"
#include "shared/load/mean.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace dockdist {

struct GpuSum {
    std::optional<std::uint64_t> memory{}, memory_total{}; // bytes, of all
    std::optional<double> power{}, limit{};                // watts, of all
    std::optional<double> hottest{}, slowest{};            // °C, MHz
    Mean utilization{};                                    // 0 to 1
    std::uint64_t throttle = 0;                            // bits of wire::throttle_reasons, of any
    std::size_t count = 0;

    void add(const wire::GpuInventory& gpu, const wire::GpuSample& sample);
};

void add_gpus(GpuSum& sum, const TopNode& node); // all that it has
// Those that have these indices.
void add_gpus(GpuSum& sum, const TopNode& node, const std::vector<int>& indices);

// Whose GPU it is: a rank's, the one that has the fewest others; else a job's. Null: nobody's.
const wire::RankSample* holder_of_gpu(const TopNode& node, int index);

// Of the fullest file system, 0 to 1.
std::optional<double> fullest_disk(const TopNode& node);

template <class Value>
void add_known(std::optional<Value>& sum, const std::optional<Value>& value) {
    if (value) {
        sum = sum.value_or(0) + *value;
    }
}

} // namespace dockdist

// What two samples of a node (shared/wire/sample.hpp) say together: what it did each second between them.
// Pure.
#pragma once

#include "shared/wire/sample.hpp"

#include <optional>
#include <vector>

namespace dockdist {

struct TrafficRate { // bytes a second
    std::optional<double> received{}, sent{};
};
// What could not be reckoned is absent: the first sample's, a counter that has begun anew.
struct NodeRates {
    double seconds = 0;                                // between the two
    std::optional<double> cpu_share{};                 // of all CPUs, 0 to 1
    std::optional<double> disk_read{}, disk_written{}; // bytes a second
    std::vector<TrafficRate> network{}, rdma{};        // in the order of the facts
    std::vector<std::optional<double>> rank_cpus{};    // CPUs that it keeps busy, in the order of now.ranks
};
// Both of the same facts; `now` is the later one.
NodeRates rates_between(const wire::SampleFacts& facts, const wire::Sample& before, const wire::Sample& now);

// Of all interfaces or ports together; absent where none is known.
TrafficRate sum_of(const std::vector<TrafficRate>& rates);

// The GPU that has this index; nullptr where the sample tells nothing of it.
const wire::GpuSample* gpu_at(const wire::SampleFacts& facts, const wire::Sample& sample, int index);

} // namespace dockdist

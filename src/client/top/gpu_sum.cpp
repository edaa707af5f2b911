#include "client/top/gpu_sum.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {

void GpuSum::add(const wire::GpuInventory& gpu, const wire::GpuSample& sample) {
    ++count;
    add_known(memory, sample.memory_bytes);
    add_known(memory_total, gpu.memory_bytes);
    add_known(power, sample.power_w);
    add_known(limit, gpu.power_limit_w);
    if (sample.temperature_c) {
        hottest = std::max(hottest.value_or(*sample.temperature_c), *sample.temperature_c);
    }
    if (sample.clock_mhz) {
        slowest = std::min(slowest.value_or(*sample.clock_mhz), *sample.clock_mhz);
    }
    if (sample.utilization_percent) {
        utilization.add(std::clamp(*sample.utilization_percent / 100, 0.0, 1.0));
    }
    throttle |= sample.throttle.value_or(0);
}

void add_gpus(GpuSum& sum, const TopNode& node) {
    for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
        sum.add(node.facts.gpus[i], i < node.sample.gpus.size() ? node.sample.gpus[i] : wire::GpuSample{});
    }
}

void add_gpus(GpuSum& sum, const TopNode& node, const std::vector<int>& indices) {
    for (const auto index : indices) {
        if (const auto* sample = gpu_at(node.facts, node.sample, index)) {
            sum.add(*std::ranges::find(node.facts.gpus, index, &wire::GpuInventory::index), *sample);
        }
    }
}

const wire::RankSample* holder_of_gpu(const TopNode& node, int index) {
    const wire::RankSample* found = nullptr;
    const auto order = [](const wire::RankSample& rank) {
        return std::pair(rank.rank < 0, rank.gpus.size());
    };
    for (const auto& rank : node.sample.ranks) {
        if (std::ranges::find(rank.gpus, index) != rank.gpus.end() &&
            (found == nullptr || order(rank) < order(*found))) {
            found = &rank;
        }
    }
    return found;
}

std::optional<double> fullest_disk(const TopNode& node) {
    std::optional<double> fullest;
    for (std::size_t i = 0; i < node.facts.disks.size() && i < node.sample.disk_bytes.size(); ++i) {
        const auto size = node.facts.disks[i].size_bytes.value_or(0);
        if (const auto used = node.sample.disk_bytes[i]; used && size > 0) {
            const auto share = static_cast<double>(std::min(*used, size)) / static_cast<double>(size);
            fullest = std::max(fullest.value_or(share), share);
        }
    }
    return fullest;
}

} // namespace dockdist

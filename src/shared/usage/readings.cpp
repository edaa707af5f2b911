#include "shared/usage/readings.hpp"

#include "shared/load/rates.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using wire::Figure;

// A rank that is new was first seen since the sample before.
double cpus_of(const std::string& job, const wire::Sample& sample, const NodeRates& rates) {
    double cpus = 0;
    for (std::size_t i = 0; i < sample.ranks.size(); ++i) {
        if (sample.ranks[i].job == job) {
            cpus += rates.rank_cpus[i].value_or(static_cast<double>(sample.ranks[i].cpu_ms) / 1000 /
                                                rates.seconds);
        }
    }
    return cpus;
}

} // namespace

bool Readings::is_own(const wire::GpuInventory& gpu, const wire::Sample& sample) const {
    if (units_.empty()) {
        return std::ranges::any_of(sample.ranks, [&](const wire::RankSample& rank) {
            return rank.job == job_ && std::ranges::find(rank.gpus, gpu.index) != rank.gpus.end();
        });
    }
    const auto has = [&](const std::string& id) { return std::ranges::find(units_, id) != units_.end(); };
    return has(gpu.uuid) || std::ranges::any_of(gpu.instances, has);
}

Reading Readings::of(const wire::SampleFacts& facts, const wire::Sample& sample) {
    Reading reading{.at_ms = sample.clock_ms};
    const auto add = [&](Figure figure, int gpu, const auto& value) {
        if (value) {
            reading.values.push_back({figure, gpu, static_cast<double>(*value)});
        }
    };
    for (std::size_t i = 0; i < std::min(facts.gpus.size(), sample.gpus.size()); ++i) {
        if (is_own(facts.gpus[i], sample)) {
            const auto index = facts.gpus[i].index;
            const auto& gpu = sample.gpus[i];
            add(Figure::gpu_utilization, index, gpu.utilization_percent);
            add(Figure::gpu_memory, index, gpu.memory_bytes);
            add(Figure::gpu_power, index, gpu.power_w);
            add(Figure::gpu_temperature, index, gpu.temperature_c);
            add(Figure::gpu_clock, index, gpu.clock_mhz);
        }
    }
    std::optional<std::uint64_t> memory;
    for (const auto& rank : sample.ranks) {
        if (rank.job == job_) {
            memory = memory.value_or(0) + rank.memory_bytes;
        }
    }
    add(Figure::memory, -1, memory);
    if (before_ && sample.clock_ms > before_->clock_ms) {
        const auto rates = rates_between(facts, *before_, sample);
        if (memory) { // something of the job is there
            add(Figure::cpu, -1, std::optional(cpus_of(job_, sample, rates)));
        }
        // Of other interfaces than before nothing is known yet.
        const auto network =
            sum_of(facts.network == before_facts_.network ? rates.network : NodeRates{}.network);
        const auto rdma = sum_of(facts.rdma == before_facts_.rdma ? rates.rdma : NodeRates{}.rdma);
        add(Figure::network_received, -1, network.received);
        add(Figure::network_sent, -1, network.sent);
        add(Figure::rdma_received, -1, rdma.received);
        add(Figure::rdma_sent, -1, rdma.sent);
        add(Figure::disk_read, -1, rates.disk_read);
        add(Figure::disk_written, -1, rates.disk_written);
    }
    before_ = sample;
    before_facts_ = facts;
    return reading;
}

} // namespace dockdist

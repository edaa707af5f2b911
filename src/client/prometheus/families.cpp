#include "client/prometheus/families.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace dockdist {
namespace {

using Type = MetricFamily::Type;
using Tell = MetricFamily::Tell;

template <class Value>
void put(const Tell& out, const std::optional<Value>& value, double factor, const MetricLabels& labels) {
    if (value) {
        out(static_cast<double>(*value) * factor, labels);
    }
}

// Of the node itself.
template <auto Member>
void tell_sample(const SampledNode& node, const Tell& out) {
    if (node.sample) {
        put(out, (*node.sample).*Member, 1, {});
    }
}
void tell_time(const SampledNode& node, const Tell& out) {
    if (node.sample) {
        out(static_cast<double>(node.sample->at_ms) / 1000, {});
    }
}
void tell_cpu(const SampledNode& node, const Tell& out) {
    if (node.sample) {
        put(out, node.sample->cpu_ms, 0.001, {});
    }
}

template <auto Counts, auto Names, auto Way>
void tell_traffic(const SampledNode& node, const Tell& out, const char* label) {
    if (!node.sample) {
        return;
    }
    const auto& counts = (*node.sample).*Counts;
    const auto& names = node.facts.*Names;
    for (std::size_t i = 0; i < std::min(counts.size(), names.size()); ++i) {
        put(out, counts[i].*Way, 1, {{label, names[i]}});
    }
}
template <auto Way>
void tell_network(const SampledNode& node, const Tell& out) {
    tell_traffic<&wire::Sample::network, &wire::SampleFacts::network, Way>(node, out, "device");
}
template <auto Way>
void tell_rdma(const SampledNode& node, const Tell& out) {
    tell_traffic<&wire::Sample::rdma, &wire::SampleFacts::rdma, Way>(node, out, "device");
}

void tell_disk_used(const SampledNode& node, const Tell& out) {
    for (std::size_t i = 0;
         node.sample && i < std::min(node.sample->disk_bytes.size(), node.facts.disks.size()); ++i) {
        put(out, node.sample->disk_bytes[i], 1, {{"mountpoint", node.facts.disks[i].path}});
    }
}
void tell_disk_size(const SampledNode& node, const Tell& out) {
    for (const auto& disk : node.facts.disks) {
        put(out, disk.size_bytes, 1, {{"mountpoint", disk.path}});
    }
}

MetricLabels labels_of(const wire::GpuInventory& gpu) {
    return {{"gpu", std::to_string(gpu.index)}, {"uuid", gpu.uuid}};
}

// What there is of a GPU, and what was sampled of it.
template <auto Member>
void tell_inventory(const SampledNode& node, const Tell& out) {
    for (const auto& gpu : node.facts.gpus) {
        put(out, gpu.*Member, 1, labels_of(gpu));
    }
}
template <class Each>
void each_gpu(const SampledNode& node, Each each) {
    for (std::size_t i = 0; node.sample && i < std::min(node.sample->gpus.size(), node.facts.gpus.size());
         ++i) {
        each(node.facts.gpus[i], node.sample->gpus[i]);
    }
}
void tell_load(const SampledNode& node, const Tell& out) {
    each_gpu(node, [&](const auto& gpu, const auto& sample) {
        put(out, sample.utilization_percent, 0.01, labels_of(gpu));
    });
}
template <auto Member>
void tell_gpu(const SampledNode& node, const Tell& out) {
    each_gpu(node, [&](const auto& gpu, const auto& sample) { put(out, sample.*Member, 1, labels_of(gpu)); });
}
void tell_clock(const SampledNode& node, const Tell& out) {
    each_gpu(node,
             [&](const auto& gpu, const auto& sample) { put(out, sample.clock_mhz, 1e6, labels_of(gpu)); });
}
void tell_throttle(const SampledNode& node, const Tell& out) {
    each_gpu(node, [&](const auto& gpu, const auto& sample) {
        for (const auto& reason : wire::throttle_reasons) {
            if (sample.throttle) {
                auto labels = labels_of(gpu);
                labels.emplace_back("reason", reason.name);
                out((*sample.throttle & reason.bit) != 0 ? 1 : 0, labels);
            }
        }
    });
}
void tell_gpu_info(const SampledNode& node, const Tell& out) {
    for (const auto& gpu : node.facts.gpus) {
        auto labels = labels_of(gpu);
        labels.emplace_back("name", gpu.name);
        labels.emplace_back("driver", node.facts.driver);
        out(1, labels);
    }
}

MetricLabels labels_of(const wire::RankSample& rank) {
    return {{"job", rank.job}, {"rank", rank.rank < 0 ? "launcher" : std::to_string(rank.rank)}};
}
template <class Each>
void each_rank(const SampledNode& node, Each each) {
    if (node.sample) {
        std::ranges::for_each(node.sample->ranks, each);
    }
}
void tell_jobs(const SampledNode& node, const Tell& out) {
    std::set<std::string> jobs;
    each_rank(node, [&](const wire::RankSample& rank) { jobs.insert(rank.job); });
    for (const auto& job : jobs) {
        out(1, {{"job", job}});
    }
}
void tell_gpu_jobs(const SampledNode& node, const Tell& out) {
    each_rank(node, [&](const wire::RankSample& rank) {
        for (const auto& gpu : node.facts.gpus) {
            if (std::ranges::find(rank.gpus, gpu.index) != rank.gpus.end()) {
                auto labels = labels_of(gpu);
                std::ranges::copy(labels_of(rank), std::back_inserter(labels));
                out(1, labels);
            }
        }
    });
}
void tell_rank_cpu(const SampledNode& node, const Tell& out) {
    each_rank(node, [&](const wire::RankSample& rank) {
        out(static_cast<double>(rank.cpu_ms) / 1000, labels_of(rank));
    });
}
void tell_rank_memory(const SampledNode& node, const Tell& out) {
    each_rank(node, [&](const wire::RankSample& rank) {
        out(static_cast<double>(rank.memory_bytes), labels_of(rank));
    });
}

using wire::GpuInventory;
using wire::GpuSample;
using wire::TrafficCount;

constexpr std::array families{
    MetricFamily{"dockdist_node_up", "Whether the node is ready and reports its metrics.", Type::gauge,
                 [](const SampledNode& node, const Tell& out) { put(out, node.up, 1, {}); }},
    MetricFamily{"dockdist_node_sampled_timestamp_seconds",
                 "When the node was sampled, in seconds since 1970 by its clock.", Type::gauge, tell_time},
    MetricFamily{"dockdist_node_cpus", "CPUs of the node's host.", Type::gauge,
                 [](const SampledNode& node, const Tell& out) {
                     if (node.facts.cpus > 0) {
                         out(node.facts.cpus, {});
                     }
                 }},
    MetricFamily{"dockdist_node_cpu_seconds", "Time that the host's CPUs were busy, all together.",
                 Type::counter, tell_cpu},
    MetricFamily{"dockdist_node_memory_used_bytes", "Memory of the host that could not be had.", Type::gauge,
                 tell_sample<&wire::Sample::memory_bytes>},
    MetricFamily{"dockdist_node_memory_size_bytes", "Memory of the host.", Type::gauge,
                 [](const SampledNode& node, const Tell& out) { put(out, node.facts.memory_bytes, 1, {}); }},
    MetricFamily{"dockdist_node_disk_read_bytes", "Read from the host's disks.", Type::counter,
                 tell_sample<&wire::Sample::disk_read>},
    MetricFamily{"dockdist_node_disk_written_bytes", "Written to the host's disks.", Type::counter,
                 tell_sample<&wire::Sample::disk_written>},
    MetricFamily{"dockdist_node_filesystem_used_bytes", "Used of a file system that the node has.",
                 Type::gauge, tell_disk_used},
    MetricFamily{"dockdist_node_filesystem_size_bytes", "Size of a file system that the node has.",
                 Type::gauge, tell_disk_size},
    MetricFamily{"dockdist_node_network_received_bytes", "Received over an interface of the host.",
                 Type::counter, tell_network<&TrafficCount::received>},
    MetricFamily{"dockdist_node_network_sent_bytes", "Sent over an interface of the host.", Type::counter,
                 tell_network<&TrafficCount::sent>},
    MetricFamily{"dockdist_node_rdma_received_bytes", "Received over an RDMA port of the host.",
                 Type::counter, tell_rdma<&TrafficCount::received>},
    MetricFamily{"dockdist_node_rdma_sent_bytes", "Sent over an RDMA port of the host.", Type::counter,
                 tell_rdma<&TrafficCount::sent>},
    MetricFamily{"dockdist_gpu", "A GPU of the node.", Type::info, tell_gpu_info},
    MetricFamily{"dockdist_gpu_utilization_ratio", "Share of the time in which a kernel ran.", Type::gauge,
                 tell_load},
    MetricFamily{"dockdist_gpu_memory_used_bytes", "Memory of the GPU in use.", Type::gauge,
                 tell_gpu<&GpuSample::memory_bytes>},
    MetricFamily{"dockdist_gpu_memory_size_bytes", "Memory of the GPU.", Type::gauge,
                 tell_inventory<&GpuInventory::memory_bytes>},
    MetricFamily{"dockdist_gpu_power_watts", "Power that the GPU draws.", Type::gauge,
                 tell_gpu<&GpuSample::power_w>},
    MetricFamily{"dockdist_gpu_power_limit_watts", "Power that the GPU may draw.", Type::gauge,
                 tell_inventory<&GpuInventory::power_limit_w>},
    MetricFamily{"dockdist_gpu_temperature_celsius", "Temperature of the GPU.", Type::gauge,
                 tell_gpu<&GpuSample::temperature_c>},
    MetricFamily{"dockdist_gpu_clock_hertz", "Clock of the GPU's SMs.", Type::gauge, tell_clock},
    MetricFamily{"dockdist_gpu_throttled", "Whether the GPU's clock is held down for this reason.",
                 Type::gauge, tell_throttle},
    MetricFamily{"dockdist_job", "A job with processes on the node.", Type::info, tell_jobs},
    MetricFamily{"dockdist_job_gpu", "A GPU that a rank of a job has.", Type::info, tell_gpu_jobs},
    MetricFamily{"dockdist_rank_cpu_seconds", "CPU time of a rank and all below it.", Type::counter,
                 tell_rank_cpu},
    MetricFamily{"dockdist_rank_memory_bytes", "Resident memory of a rank and all below it.", Type::gauge,
                 tell_rank_memory},
};

} // namespace

std::span<const MetricFamily> metric_families() {
    return families;
}

} // namespace dockdist

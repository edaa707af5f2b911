// What /proc and /sys tell of the host: how busy its CPUs, memory, disks, network interfaces and RDMA ports
// are (proc(5); Documentation/admin-guide/iostats.rst and ABI/stable/sysfs-class-infiniband of the kernel).
#pragma once

#include "shared/wire/sample.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// Of SampleFacts: cpus, memory_bytes, disks, network and rdma.
void look_at_host(wire::SampleFacts& facts);
// Of Sample: cpu_ms, memory_bytes, disk_*, network and rdma, in the order of these facts.
void count_host(const wire::SampleFacts& facts, wire::Sample& sample);

// Pure parts.

std::optional<std::int64_t> parse_busy_ticks(std::string_view proc_stat);
struct MemoryCount {
    std::uint64_t total = 0, available = 0; // bytes
};
std::optional<MemoryCount> parse_meminfo(std::string_view meminfo);
struct DiskCount {
    std::uint64_t read = 0, written = 0; // bytes
};
// By device; partitions and what lies over other disks too.
std::map<std::string, DiskCount> parse_diskstats(std::string_view diskstats);
std::map<std::string, wire::TrafficCount> parse_net_dev(std::string_view net_dev);
// The mount points whose file systems lie on the host's own disks or memory, each file system once, / first.
// Those that a server may hang (NFS) are not: who asks such a one for its size may wait for ever.
std::vector<std::string> watched_mounts(std::string_view mountinfo);

} // namespace dockdist::node

// Which GPUs of a machine are near each other, and which of them to give together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// From the nearest to the farthest, as `nvidia-smi topo -m` has them.
enum class GpuLink {
    nvlink,      // NV#: `links` says how many
    switch_one,  // PIX: one PCIe bridge
    switch_many, // PXB: several bridges
    host_bridge, // PHB
    numa_node,   // NODE: within a NUMA node
    system,      // SYS: across NUMA nodes (SOC before R375)
    unknown,
};

struct Topology {
    struct Link {
        GpuLink kind = GpuLink::unknown;
        int links = 0; // nvlink: how many of them
        bool operator==(const Link&) const = default;
    };
    std::vector<std::vector<Link>> links{}; // by index, square and symmetric; empty: not known
    std::vector<int> numa_node{};           // by index, as many; -1: not told, or more than one
    bool empty() const { return links.empty(); }
    Link between(int one, int other) const; // unknown for indices that it does not have
    bool on_one_numa_node(int one, int other) const;
};

// The text of `nvidia-smi topo -m`; what it does not say, or says in another way, is unknown. Where the two
// halves of the matrix differ, the farther link counts.
Topology parse_topology(std::string_view text);

struct GpuChoice {
    std::vector<int> indices{}; // ascending; as many as were asked for
    // What they have in common: "NVLink", "one PCIe switch", "PCIe switches", "the same NUMA node",
    // "different NUMA nodes"; empty where nothing is known, or for one.
    std::string together{};
};
// `count` of the candidates (different indices, at least `count`). Those whose farthest link is the nearest,
// because the slowest link sets the pace of a collective; of equal ones those with the best links in all,
// then those on the fewest pairs of NUMA nodes, then those whose taking leaves the best links to others (so a
// GPU whose neighbours are taken goes before one of a whole group), then the lowest. For up to 16 candidates
// by trying all, beyond that the best of those grown from each.
GpuChoice choose_gpus(std::size_t count, std::span<const int> candidates, const Topology& topology);

} // namespace dockdist

// Which GPUs of a machine are near each other, and which of them to give together.
#pragma once

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
    system,      // SYS: across NUMA nodes
    unknown,
};

struct Topology {
    struct Link {
        GpuLink kind = GpuLink::unknown;
        int links = 0; // nvlink: how many of them
    };
    std::vector<std::vector<Link>> links{}; // by index, square; empty: not known
    std::vector<int> numa_node{};           // by index; -1: not told
    bool empty() const { return links.empty(); }
};

// The text of `nvidia-smi topo -m`; what it does not say, or says in another way, is unknown.
Topology parse_topology(std::string_view text);

struct GpuChoice {
    std::vector<int> indices{}; // ascending; as many as were asked for
    std::string together{};     // "NVLink", "one PCIe switch", "the same NUMA node"; empty where nothing is
                                // known, or for one
};
// `count` of the candidates (indices, at least `count`): those with the best links among each other; of equal
// ones those whose taking leaves the best group behind, then the lowest. For up to 16 candidates by trying
// all, beyond that grown from the best pair.
GpuChoice choose_gpus(std::size_t count, std::span<const int> candidates, const Topology& topology);

} // namespace dockdist

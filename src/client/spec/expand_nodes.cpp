#include "client/spec/cluster_spec.hpp"

#include <algorithm>
#include <string>

namespace dockdist {
namespace {

// The i-th of `nodes` equal parts. Which GPUs a count means is chosen at `up`.
GpuSpec share(const GpuSpec& gpus, int i, int nodes) {
    if (nodes == 1 || gpus.kind == GpuSpec::Kind::all || gpus.kind == GpuSpec::Kind::none) {
        return gpus;
    }
    if (gpus.kind == GpuSpec::Kind::count) {
        return {.kind = GpuSpec::Kind::count, .count = gpus.count / nodes};
    }
    GpuSpec part{.kind = GpuSpec::Kind::devices};
    const int each = static_cast<int>(gpus.devices.size()) / nodes;
    for (int device = i * each; device < (i + 1) * each; ++device) {
        part.devices.push_back(gpus.devices[static_cast<std::size_t>(device)]);
    }
    return part;
}

} // namespace

NodeName node_name(const HostSpec& host, int i) {
    return NodeName(host.nodes == 1 ? host.name.str() : host.name.str() + "-" + std::to_string(i));
}

const HostSpec* find_host(const ClusterSpec& spec, const std::string& word) {
    auto found = std::ranges::find(spec.hosts, HostName(word), &HostSpec::name);
    if (found == spec.hosts.end() && !word.empty()) {
        found = std::ranges::find(spec.hosts, word, &HostSpec::position_name);
    }
    return found == spec.hosts.end() ? nullptr : &*found;
}

std::vector<NodeSpec> expand_nodes(const ClusterSpec& spec) {
    std::vector<NodeSpec> nodes;
    for (std::size_t h = 0; h < spec.hosts.size(); ++h) {
        const auto& host = spec.hosts[h];
        for (int i = 0; i < host.nodes; ++i) {
            nodes.push_back({.name = node_name(host, i),
                             .rank = static_cast<int>(nodes.size()),
                             .host = h,
                             .gpus = share(host.gpus, i, host.nodes),
                             .slots = host.slots});
        }
    }
    return nodes;
}

} // namespace dockdist

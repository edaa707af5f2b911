#include "client/export/export_job.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

// Of a node; none: as many as its host has, which nobody knows here.
std::optional<int> counted(const NodeSpec& node) {
    switch (node.gpus.kind) {
    case GpuSpec::Kind::none:
        return 0;
    case GpuSpec::Kind::count:
        return node.gpus.count;
    case GpuSpec::Kind::devices:
        if (std::ranges::none_of(node.gpus.devices,
                                 [](const std::string& device) { return device.ends_with("=all"); })) {
            return static_cast<int>(node.gpus.devices.size());
        }
        break;
    case GpuSpec::Kind::all:
        break;
    }
    return node.slots;
}

// "MIG-…", "0:1", "nvidia.com/mig=0:1" or "nvidia.com/mig-1g.10gb=0".
bool is_mig(const std::string& device) {
    return device.starts_with("MIG-") || device.find("/mig") != std::string::npos ||
           (device.find('/') == std::string::npos && device.find(':') != std::string::npos);
}

bool is_amd(const GpuSpec& gpus) {
    return gpus.amd || std::ranges::any_of(gpus.devices, [](const std::string& device) {
               return device.starts_with("amd.com/gpu");
           });
}

} // namespace

Result<Placed> placed(const ClusterSpec& spec, const std::vector<NodeName>& chosen, std::size_t count,
                      std::optional<int> gpus) {
    const auto nodes = expand_nodes(spec);
    Placed result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& name = chosen[std::min(i, chosen.size() - 1)];
        const auto& node = *std::ranges::find(nodes, name, &NodeSpec::name);
        const auto has = counted(node);
        if (!has && !gpus) {
            return Error{ErrorKind::config, name.str(),
                         "how many GPUs to ask for is not known: the file says `gpus: all`, and no host is "
                         "asked here",
                         "add --gpus N, or write `gpus: N` for the host"};
        }
        const int of_node = has.value_or(gpus.value_or(0));
        const bool none = node.gpus.kind == GpuSpec::Kind::none;
        const int of_job = none ? 0 : gpus.value_or(of_node);
        if (i == 0) {
            result.gpus = of_job;
            result.amd = is_amd(node.gpus);
            result.env = spec.hosts[node.host].env;
        }
        if (of_job != result.gpus || is_amd(node.gpus) != result.amd) {
            return Error{ErrorKind::config, name.str(),
                         fmt::format("it has {} GPUs and {} has {}: one job of a scheduler asks for the same "
                                     "of each node",
                                     of_job, chosen.front().str(), result.gpus),
                         fmt::format("use --gpus {}, or choose nodes that are alike with --nodes",
                                     std::max(1, std::min(of_job, result.gpus)))};
        }
        result.whole_nodes = result.whole_nodes && (!gpus || !has || none || *gpus == *has);
        result.mig = result.mig || std::ranges::any_of(node.gpus.devices, is_mig);
        result.env_differs = result.env_differs || spec.hosts[node.host].env != result.env;
        result.nodes.push_back({.name = NodeName("node-" + std::to_string(i)),
                                .slots = node.slots.value_or(std::max(of_node, 1)),
                                .gpus = none ? 0 : of_node});
    }
    if (result.env_differs) {
        result.env.clear();
    }
    return result;
}

} // namespace dockdist

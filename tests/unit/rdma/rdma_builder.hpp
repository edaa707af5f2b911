// Nodes with RDMA ports, as they tell of themselves.
#pragma once

#include "shared/rdma/variables.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist::testing {

inline wire::RdmaPort ib_port(const std::string& device, std::int64_t gbps = 400,
                              const std::string& prefix = "fe80:0000:0000:0000") {
    return {.device = device,
            .port = 1,
            .link = "InfiniBand",
            .state = "ACTIVE",
            .mbps = gbps * 1000,
            .prefix = prefix};
}

inline wire::RdmaPort roce_port(const std::string& device, std::vector<wire::RdmaGid> gids,
                                std::int64_t gbps = 200) {
    return {.device = device,
            .port = 1,
            .link = "Ethernet",
            .state = "ACTIVE",
            .mbps = gbps * 1000,
            .netdev = "net-" + device,
            .gids = std::move(gids)};
}

inline wire::RdmaPort down(wire::RdmaPort port) {
    port.state = "DOWN";
    port.prefix.clear();
    port.gids.clear();
    return port;
}

inline wire::NodeRecord node_with(int rank, std::vector<wire::RdmaPort> ports,
                                  const std::string& use = "auto") {
    return {.node = "node-" + std::to_string(rank),
            .rank = rank,
            .address = "10.0.0." + std::to_string(rank + 1),
            .interface = "eth0",
            .rdma = {.use = use, .inside = true, .ports = std::move(ports)}};
}

// In a ring, from each to the next by a cable, which is a network of its own.
inline std::vector<wire::NodeRecord> cabled(int nodes, const std::string& nccl, int prefix = 24) {
    std::vector<wire::NodeRecord> ring;
    for (int i = 0; i < nodes; ++i) {
        const auto port = [&](const std::string& device, int cable) {
            return roce_port(
                device, {{3, "10.20." + std::to_string(cable) + "." + std::to_string(i + 1), prefix, ""}});
        };
        ring.push_back(node_with(i, {port("out", i), port("in", (i + nodes - 1) % nodes)}));
        ring.back().rdma.nccl = nccl;
    }
    return ring;
}

// "mlx5_0:1 mlx5_1:1"
inline std::string used_of(const rdma::Node& node) {
    std::string text;
    for (const auto& port : node.ports) {
        if (port.used) {
            text += (text.empty() ? "" : " ") + rdma::port_name(port.port);
        }
    }
    return text;
}

inline std::string why_of(const rdma::Node& node, const std::string& device) {
    for (const auto& port : node.ports) {
        if (port.port.device == device) {
            return port.used ? "used" : port.why;
        }
    }
    return "not there";
}

// "NCCL_IB_HCA==mlx5_0:1 UCX_…"
inline std::string variables_of(const std::vector<wire::NodeRecord>& nodes, std::size_t place) {
    std::string text;
    const auto settings = rdma::settings(rdma::judge(nodes));
    for (const auto& [name, value, why] : settings.nodes[place]) {
        text += (text.empty() ? "" : " ") + name + "=" + value;
    }
    return text;
}

} // namespace dockdist::testing

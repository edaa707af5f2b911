// Reports of a check as tests need them.
#pragma once

#include "client/check/report/report.hpp"

#include <cmath>
#include <string>

namespace dockdist {

// Four nodes of eight GPUs; node-2 has a slow cable, node-3 a driver of its own, and a host's name tries to
// be more than text.
inline CheckReport deep_report() {
    using State = CheckRow::State;
    CheckReport report;
    for (int i = 0; i < 4; ++i) {
        report.nodes.emplace_back("node-" + std::to_string(i));
    }
    report.rows = {
        {.layer = CheckLayer::engine,
         .subject = "node-0",
         .check = "engine",
         .text = "Engine 28.1.0, API 1.49"},
        {.state = State::warn,
         .layer = CheckLayer::engine,
         .subject = "node-1",
         .check = "clock",
         .text = "95 s ahead of this machine's",
         .hint = "keep the hosts' clocks by NTP (`timedatectl`)"},
        {.state = State::fail,
         .layer = CheckLayer::host,
         .subject = "node-3",
         .check = "driver",
         .text = "550.54.14, and 550.127.08 on the other nodes",
         .hint = "install the same NVIDIA driver on every host"},
        {.layer = CheckLayer::container,
         .subject = "all nodes",
         .check = "image",
         .text = "<script>alert(1)</script> & \x1b[2J the same layers on 4 nodes"},
        {.state = State::warn,
         .layer = CheckLayer::network,
         .subject = "node-2",
         .check = "bandwidth",
         .text = "11.2 Gbit/s, where the others have 93.4",
         .hint = "look at the cable and the switch port: `ethtool eth0`"},
        {.layer = CheckLayer::collective,
         .subject = "all nodes",
         .check = "transport",
         .text = "NET/IB between the nodes, P2P within"},
    };
    for (int node = 0; node < 2; ++node) {
        NodeGpus gpus{.node = report.nodes[static_cast<std::size_t>(node)], .cuda = "12.4"};
        gpus.gpus = {{.index = 0,
                      .uuid = "GPU-aa",
                      .name = "NVIDIA H100 80GB HBM3",
                      .driver = "550.127.08",
                      .memory_used_mib = 1,
                      .memory_total_mib = 81559,
                      .temperature_c = 31}};
        report.gpus.push_back(std::move(gpus));
    }
    for (std::size_t from = 0; from < 4; ++from) {
        for (std::size_t to = 0; to < 4; ++to) {
            if (from != to) {
                const bool slow = from == 2 || to == 2;
                report.links.push_back({.from = from,
                                        .to = to,
                                        .latency_us = slow ? 412.0 : 38.0 + static_cast<double>(from),
                                        .bandwidth = slow ? 1.4e9 : 11.675e9,
                                        .slow = slow});
            }
        }
    }
    const auto measure = [&](std::vector<std::size_t> nodes, const std::string& operation,
                             const std::string& type, double peak) {
        for (std::uint64_t bytes = 1024; bytes <= (8ULL << 30U); bytes *= 8) {
            const auto share = static_cast<double>(bytes) / (static_cast<double>(bytes) + 4e7);
            report.collectives.push_back({.nodes = nodes,
                                          .ranks = static_cast<int>(nodes.size()) * 8,
                                          .operation = operation,
                                          .data_type = type,
                                          .bytes = bytes,
                                          .time_us = static_cast<double>(bytes) / peak / share / 1e3,
                                          .algorithm_bandwidth = peak * share / 1.9,
                                          .bus_bandwidth = peak * share});
        }
    };
    for (const auto* operation : {"all_reduce", "all_gather"}) {
        for (const auto* type : {"float", "bf16"}) {
            for (std::size_t node = 0; node < 4; ++node) {
                measure({node}, operation, type, 470.0 + 3 * static_cast<double>(node));
            }
            measure({0, 1, 2, 3}, operation, type, 48);
        }
    }
    for (std::size_t first = 0; first < 4; ++first) {
        for (std::size_t second = first + 1; second < 4; ++second) {
            measure({first, second}, "all_reduce", "float", first == 2 || second == 2 ? 11 : 49);
        }
    }
    return report;
}

// One node with one GPU: what NCCL measures there is a copy.
inline CheckReport single_report() {
    CheckReport report;
    report.nodes.emplace_back("node-0");
    report.rows = {{.layer = CheckLayer::collective,
                    .subject = "node-0",
                    .check = "nccl",
                    .text = "one GPU: only a copy was measured"}};
    report.collectives = {{.nodes = {0},
                           .ranks = 1,
                           .operation = "all_reduce",
                           .data_type = "float",
                           .bytes = 1U << 20U,
                           .time_us = 700,
                           .algorithm_bandwidth = 1.5,
                           .bus_bandwidth = 0,
                           .copy = true}};
    return report;
}

// Many nodes, their round trips only.
inline CheckReport wide_report(std::size_t nodes) {
    CheckReport report;
    for (std::size_t node = 0; node < nodes; ++node) {
        report.nodes.emplace_back("node-" + std::to_string(node));
        report.rows.push_back({.layer = CheckLayer::container,
                               .subject = report.nodes.back().str(),
                               .check = "container",
                               .text = "ready"});
    }
    for (std::size_t from = 0; from < nodes; ++from) {
        for (std::size_t to = 0; to < nodes; ++to) {
            if (from != to) {
                report.links.push_back({.from = from, .to = to, .latency_us = 40, .bandwidth = 1.2e9});
            }
        }
    }
    return report;
}

} // namespace dockdist

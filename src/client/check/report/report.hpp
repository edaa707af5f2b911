// What a check found, as values: made by check/, shown by cli/ as text, JSON and a page.
#pragma once

#include "shared/core/names.hpp"
#include "shared/gpu/gpu.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

enum class CheckLayer { engine, host, container, network, collective };

struct CheckRow {
    enum class State { pass, warn, fail };
    State state = State::pass;
    CheckLayer layer = CheckLayer::engine;
    std::string subject{}; // a host, a node, "node-0, node-1" for a pair, or "all nodes"
    std::string check{};   // one word, "clock", "gpus", "ssh": with the layer it names the question
    std::string text{};    // what was found
    std::string hint{};    // what to do; empty where there is nothing to do
};

struct NodeGpus {
    NodeName node{};
    std::vector<Gpu> gpus{};
    std::string cuda{};
};

// The way from one node to another over TCP, as the job's sockets take it.
struct LinkMeasurement {
    std::size_t from = 0, to = 0;       // places in CheckReport::nodes
    std::optional<double> latency_us{}; // of a round trip, the median
    std::optional<double> bandwidth{};  // bytes/s; only a deep check measures it
    bool slow = false;                  // beside the other links
};

// One measurement of a collective operation.
struct CollectiveMeasurement {
    std::vector<std::size_t> nodes{}; // places in CheckReport::nodes: one, a pair, or all
    int ranks = 0;                    // GPUs
    std::string operation{};          // "all_reduce"
    std::string data_type{};          // "float"
    std::uint64_t bytes = 0;
    double time_us = 0;
    double algorithm_bandwidth = 0, bus_bandwidth = 0; // GB/s, as nccl-tests count them
    bool copy = false;                                 // of one rank: no network, never graded
    std::uint64_t wrong = 0;                           // elements
};

struct CheckReport {
    std::vector<CheckRow> rows{}; // by layer, then in the order of hosts and nodes
    std::vector<NodeGpus> gpus{}; // nodes that have any
    std::vector<NodeName> nodes{};
    std::vector<LinkMeasurement> links{};
    std::vector<CollectiveMeasurement> collectives{};

    bool passed() const; // no row fails
};

} // namespace dockdist

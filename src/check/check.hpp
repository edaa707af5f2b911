// Whether a multi-node job can run: every finding is a row with what to do about it.
#pragma once

#include "check/gpus.hpp"
#include "observe/observe.hpp"
#include "report/event.hpp"
#include "spec/cluster_spec.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct CheckRow {
    enum class State { pass, warn, fail };
    State state = State::pass;
    std::string subject{}; // a host or a node
    std::string check{};   // "engine", "clock", "container", "gpus", "ssh"
    std::string text{};
    std::string hint{};
};

struct NodeGpus {
    NodeName node{};
    std::vector<GpuState> gpus{};
    std::string cuda{};
};

struct CheckReport {
    std::vector<CheckRow> rows{}; // by layer, then in the order of hosts and nodes
    std::vector<NodeGpus> gpus{}; // nodes that have any
    bool passed() const;
};

Task<CheckReport> check_cluster(const ClusterSpec& spec, const Engines& engines, Reporter& reporter);

} // namespace dockdist

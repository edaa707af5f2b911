// The machine of every node, as its kernel tells inside the container.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "client/spec/cluster_spec.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// Rows: architecture (one row), xid (where the kernel's log may be read), governor (where the kernel says),
// shm, limits (of a process that came over ssh). Not merged.
std::vector<CheckRow> judge_system(const std::vector<CheckedNode>& nodes, const ContainerSpec& container);

// Of a node's machine, without what was found.
inline CheckRow host_row(const CheckedNode& node, const char* check) {
    return {.layer = CheckLayer::host, .subject = node.name.str(), .check = check};
}

// Where a host's engine keeps images and containers.
struct EngineRoot {
    HostName host{};
    std::string folder{}; // empty: it does not say
    bool podman = false;
};
// Free space there: one row for all that have enough.
std::vector<CheckRow> judge_disks(const std::vector<CheckedNode>& nodes,
                                  const std::vector<EngineRoot>& roots);

// Pure, by node.
CheckRow judge_limits(const CheckedNode& node, const ContainerSpec& container);
CheckRow judge_shm(const CheckedNode& node, const ContainerSpec& container);

} // namespace dockdist

// The machine of every node, as its kernel tells inside the container.
#pragma once

#include "check/checked_node.hpp"
#include "check/report/report.hpp"
#include "spec/cluster_spec.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// Rows: xid (where the kernel's log may be read), rdma (where there is any), governor (where the kernel
// says), shm, limits (of a process that came over ssh). Not merged.
std::vector<CheckRow> judge_system(const std::vector<CheckedNode>& nodes, const ContainerSpec& container);

// Free space where each host's engine keeps images and containers: one row for all that have enough. `roots`:
// the engines' own folders, by host.
std::vector<CheckRow> judge_disks(const std::vector<CheckedNode>& nodes,
                                  const std::vector<std::pair<HostName, std::string>>& roots);

// Pure, by node.
CheckRow judge_limits(const CheckedNode& node, const ContainerSpec& container);
CheckRow judge_shm(const CheckedNode& node, const ContainerSpec& container);
CheckRow judge_rdma(const CheckedNode& node);

} // namespace dockdist

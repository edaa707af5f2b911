// The RDMA ports of the nodes as they are now: each node's, the fabric that they make together, and the
// variables that follow from them.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "shared/wire/join.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct RdmaFacts {
    std::vector<CheckedNode> nodes{};
    std::vector<wire::NodeRecord> records{}; // of these nodes, as they joined
    bool whole = false;                      // they are all nodes of the cluster
};

// Rows: rdma (layer host, where there is any RDMA), rdma-variables (layer container: what jobs are told;
// where the check is of all nodes), rdma-fabric (layer network, where several nodes have RDMA). Not merged.
std::vector<CheckRow> judge_rdma(const RdmaFacts& facts);

} // namespace dockdist

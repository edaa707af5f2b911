// Nodes that are cabled to each other, without a switch: each cable is a network of its own, which two nodes
// have. NCCL takes whichever port is next, and so one that does not lead to the other node, unless it is told
// to look (from 2.30.5 on; its transport/net_ib/connect.cc, IB_SUBNET_AWARE_ROUTING). Pure.
#pragma once

#include "shared/rdma/fabric.hpp"

#include <string>

namespace dockdist::rdma {

struct Cabling {
    bool direct = false; // RoCE, and of three or more nodes each network has two
    std::string apart{}; // "a and c": the first two that no cable joins; empty: all are joined
    int prefix = 0;      // of all the networks ("/24"); 0: it differs, or is not IPv4's
};
Cabling cabling_of(const Fabric& fabric);

} // namespace dockdist::rdma

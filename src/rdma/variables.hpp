// What a node's jobs are told of its RDMA ports: variables of NCCL, UCX and NVSHMEM. Pure.
//
// All nodes of a cluster get the same names, each with values of its own: what a launcher carries from one
// node to another is then always replaced there.
#pragma once

#include "rdma/fabric.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::rdma {

// All that settings() may set: those whose values differ by node, and the others.
inline constexpr std::array names_by_node{"NCCL_IB_HCA",         "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE",
                                          "UCX_NET_DEVICES",     "UCX_IB_GID_INDEX",  "NVSHMEM_HCA_LIST",
                                          "NVSHMEM_IB_GID_INDEX"};
inline constexpr std::array names_for_all{"NCCL_IB_ADDR_FAMILY", "NCCL_IB_DISABLE", "NCCL_NET",
                                          "NVSHMEM_ENABLE_NIC_PE_MAPPING", "FI_PROVIDER"};

struct Variable {
    std::string name{};
    std::string value{};
    std::string why{};
};

struct Settings {
    std::vector<std::vector<Variable>> nodes{}; // in the order of the fabric's
    // Why NCCL may take a wrong GID that no variable can tell it; empty: it finds the right ones.
    std::string unsettled{};
};
Settings settings(const Fabric& fabric);

// NCCL before 2.21 takes GID 0 unless it is told another.
bool finds_gids(std::string_view nccl_version);

} // namespace dockdist::rdma

// What a node's jobs are told of its RDMA ports: variables of NCCL, UCX and NVSHMEM. Pure.
//
// A launcher may carry variables from node to node (DeepSpeed's pdsh takes all of NCCL_ and UCX_): what it
// brings gives way to the node's own, is_told().
#pragma once

#include "shared/rdma/fabric.hpp"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::rdma {

// All that settings() may set: those whose values differ by node, and the others.
inline constexpr std::array names_by_node{
    "NCCL_IB_HCA",      "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE",   "UCX_NET_DEVICES",
    "UCX_IB_GID_INDEX", "NVSHMEM_HCA_LIST",  "NVSHMEM_IB_GID_INDEX", "NVSHMEM_ENABLE_NIC_PE_MAPPING"};
inline constexpr std::array names_for_all{
    "NCCL_IB_ADDR_FAMILY",       "NCCL_IB_DISABLE", "NCCL_IB_MERGE_NICS", "NCCL_IB_SUBNET_AWARE_ROUTING",
    "NCCL_IB_SUBNET_PREFIX_LEN", "NCCL_NET",        "NCCL_NET_PLUGIN",    "FI_PROVIDER"};
// Whoever sets the first of them has chosen ports, for which the others were not meant. The last of the first
// ones is never set here: NVSHMEM's list of ports would go over it.
struct PortChoice {
    const char* ports;
    std::array<const char*, 3> follow;
};
inline constexpr std::array port_choices{
    PortChoice{"NCCL_IB_HCA", {"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY"}},
    PortChoice{"UCX_NET_DEVICES", {"UCX_IB_GID_INDEX"}},
    PortChoice{"NVSHMEM_HCA_LIST", {"NVSHMEM_IB_GID_INDEX", "NVSHMEM_ENABLE_NIC_PE_MAPPING"}},
    PortChoice{"NVSHMEM_HCA_PE_MAPPING",
               {"NVSHMEM_HCA_LIST", "NVSHMEM_IB_GID_INDEX", "NVSHMEM_ENABLE_NIC_PE_MAPPING"}}};
// What a job must not be told where variables are its user's.
std::vector<std::string> not_for(const std::function<bool(std::string_view name)>& is_yours);

struct Variable {
    std::string name{};
    std::string value{};
    std::string why{};
};

struct Settings {
    std::vector<std::vector<Variable>> nodes{}; // in the order of the fabric's
    // Why jobs are not told all that they should be (NCCL may take a wrong GID that no variable can tell it),
    // and what the user can do; empty: they are.
    std::string unsettled{};
    std::string hint{};
};
// Of a variable that the node has from its user, NodeRecord::rdma.yours, what dockdist would have set; of
// what follows from that choice nothing.
Settings settings(const Fabric& fabric);

// Whether the value is one that a node has of its own, by dockdist or by its user.
bool is_told(const std::vector<wire::NodeRecord>& nodes, std::string_view name, std::string_view value);

// NCCL before 2.21 takes GID 0 unless it is told another.
bool finds_gids(std::string_view nccl_version);

} // namespace dockdist::rdma

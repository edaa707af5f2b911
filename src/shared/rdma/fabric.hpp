// Which RDMA ports of a cluster's nodes are for its jobs, and why others are not. Pure, from the nodes' own
// records, so that every node and the client decide the same.
//
// Left out are: ports without a link, iWARP, virtual functions beside their physical one, ports of another
// link layer than most nodes share, slow ones beside fast ones (management), and those in a network that not
// all nodes have a port in. Networks choose only where those that all share carry the most: in a routed
// fabric every port may be in a network of its own.
#pragma once

#include "shared/wire/join.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist::rdma {

inline constexpr const char* efa = "EFA"; // Amazon's: NCCL reaches it through libfabric's plugin

struct Port {
    wire::RdmaPort port{};
    std::string network{}; // "10.1.0.0/24"; InfiniBand: the subnet's prefix; empty: not known
    int gid = -1;          // place in port.gids of the one in that network; -1: none
    bool used = false;
    std::string why{}; // not
};

struct Node {
    std::string name{};
    std::string interface{}; // of its record
    int gpus = 0;
    wire::RdmaRecord record{};
    std::vector<Port> ports{};
    std::string lacks{}; // why no port of it is used; empty where one is
};

struct Fabric {
    std::string link{};                  // of the ports that are used; empty: there are none
    std::vector<std::string> networks{}; // that all nodes share which have RDMA, in the order of the first's
    bool apart = false;                  // several nodes have RDMA, and no network was chosen that all share
    std::vector<Node> nodes{};           // those of the records, in their order
};
Fabric judge(const std::vector<wire::NodeRecord>& nodes);

std::string port_name(const wire::RdmaPort& port); // "mlx5_0:1"
std::string rate_text(std::int64_t mbps);          // "400 Gb/sec", as ibstat counts
std::string link_text(const std::string& link);    // "InfiniBand", "RoCE", "EFA"
bool is_active(const wire::RdmaPort& port);
bool is_of_nccl(const wire::RdmaPort& port);   // InfiniBand, RoCE or EFA, whatever its state
const wire::RdmaGid* gid_of(const Port& port); // nullptr: none

// A node that a job must not run on where `network.rdma` is `required`, and why.
struct Unfit {
    std::string node{};
    std::string reason{};
};
// Empty where all can go over RDMA, as far as can be known before they try.
std::vector<Unfit> unfit_nodes(const Fabric& fabric);

} // namespace dockdist::rdma

// The RDMA ports of the host, from its sysfs (ABI/stable/sysfs-class-infiniband and sysfs-class-net of the
// kernel), which a container sees whatever devices it has.
#pragma once

#include "shared/wire/rdma.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist::node {

struct RdmaPlaces {
    std::string infiniband{}; // "/sys/class/infiniband"
    std::string net{};        // "/sys/class/net"
    std::string devices{};    // "/dev/infiniband"
};
// The active ones first, each kind in the order of their names; wire::most_rdma_ports at most, and of a port
// wire::most_rdma_gids. What no kernel would say is left out. `prefixes`: of the addresses, as
// address_prefixes() tells them.
std::vector<wire::RdmaPort> read_rdma_ports(const RdmaPlaces& places,
                                            const std::map<std::string, int>& prefixes);
std::vector<wire::RdmaPort> rdma_ports_of_host();

// The bits of the network of each address that an interface has, whether it is up or not.
std::map<std::string, int> address_prefixes();

// /dev/infiniband is in the container.
bool has_rdma_devices();

} // namespace dockdist::node

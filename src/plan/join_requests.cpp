#include "plan/join_requests.hpp"

#include "core/ip_address.hpp"
#include "core/subnet.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace dockdist {

std::vector<wire::JoinRequest> join_requests(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes) {
    std::map<std::size_t, int> nodes_of;
    int nodes_beside = 1;
    for (const auto& node : nodes) {
        nodes_beside = std::max(nodes_beside, ++nodes_of[node.host]);
    }
    std::vector<wire::JoinRequest> requests;
    for (const auto& node : nodes) {
        const auto& host = spec.hosts[node.host];
        wire::JoinRequest request;
        request.cluster = spec.name.str();
        request.node = node.name.str();
        request.rank = node.rank;
        request.address = host.address;
        request.interface = host.interface;
        request.subnets = host.subnets;
        request.ssh_port = spec.ssh.port ? spec.ssh.port->number : 0;
        request.slots = node.slots.value_or(0);
        request.user = spec.container.user;
        request.rdma = to_word(spec.network.rdma);
        request.nodes = static_cast<int>(nodes.size());
        request.nodes_beside = nodes_beside;
        std::ranges::transform(spec.container.mounts, std::back_inserter(request.mounts), &MountSpec::target);
        requests.push_back(std::move(request));
    }
    return requests;
}

bool joins_otherwise(const wire::JoinRequest& request, const wire::NodeRecord& record) {
    if ((request.slots != 0 && request.slots != record.slots) || request.rdma != record.rdma.use) {
        return true;
    }
    if (!request.interface.empty() && request.interface != record.interface) {
        return true;
    }
    if (!request.address.empty()) {
        return is_ip_address(request.address) && !is_same_address(request.address, record.address);
    }
    return !request.subnets.empty() && request.interface.empty() &&
           !any_holds(request.subnets, record.address);
}

} // namespace dockdist

#include "client/plan/replacement.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dockdist {
namespace {

const ObservedNode* set_aside_before(const ObservedHost& host, const NodeName& node) {
    const auto found = std::ranges::find(host.aside, node, &ObservedNode::node);
    return found == host.aside.end() ? nullptr : &*found;
}

bool works(const ObservedNode& node) {
    return node.state == ContainerState::running && node.record.has_value();
}

JoinNode join_again(const ClusterSpec& spec, const ObservedHost& seen, std::size_t host,
                    const ObservedNode& node) {
    const auto& record = *node.record;
    JoinNode join{.host = host, .id = node.id, .machine = seen.engine.name};
    join.node.name = node.node;
    join.node.rank = node.rank;
    join.node.host = host;
    join.request = {.cluster = spec.name.str(),
                    .node = record.node,
                    .rank = record.rank,
                    .address = record.address,
                    .interface = record.interface,
                    .asked = record.asked,
                    .ssh_port = record.ssh_port,
                    .slots = record.slots,
                    .user = record.user,
                    .rdma = record.rdma.use};
    std::ranges::transform(spec.container.mounts, std::back_inserter(join.request.mounts),
                           &MountSpec::target);
    return join;
}

} // namespace

std::string set_aside_name(const ClusterName& cluster, const NodeName& node) {
    return container_name(cluster, node) + ".replaced";
}

bool is_half_replaced(const ObservedHost& host, const ObservedNode& there) {
    return set_aside_before(host, there.node) != nullptr && !works(there);
}

std::optional<ReplacedNode> plan_replacement(const ObservedHost& host, const NodeSpec& node,
                                             const ObservedNode& there, const std::string& cause,
                                             Plan& plan) {
    const auto* kept = &there;
    if (const auto* before = set_aside_before(host, node.name)) {
        const auto* goes = works(there) ? before : &there;
        kept = works(there) ? &there : before;
        plan.removals.push_back(
            {node.host, goes->id, goes->container_name, left_behind,
             works(there) ? std::optional(TakesOver{node.name, there.id}) : std::nullopt});
    }
    const bool runs = kept->state == ContainerState::running;
    if (!runs && kept->state != ContainerState::exited && kept->state != ContainerState::created) {
        plan.removals.push_back({node.host, kept->id, kept->container_name, cause});
        return std::nullopt;
    }
    return ReplacedNode{.id = kept->id, .name = kept->container_name, .runs = runs};
}

const ObservedNode* called_by_position(const HostSpec& spec, const ObservedHost& host,
                                       const std::function<bool(const ObservedNode&)>& free) {
    constexpr std::string_view begin = "node-";
    for (const auto& node : host.nodes) {
        const auto& name = node.node.str();
        if (!spec.position_name.empty() && name.starts_with(begin) && name.size() > begin.size() &&
            name.find_first_not_of("0123456789-", begin.size()) == std::string::npos && free(node)) {
            return &node;
        }
    }
    return nullptr;
}

void finish_replacement(const ClusterSpec& spec, const ObservedHost& host, const NodeSpec& node,
                        const ObservedNode& there, Plan& plan) {
    const auto name = container_name(spec.name, node.name);
    if (there.container_name != name) {
        plan.renames.push_back({node.host, there.id, there.container_name, name, left_behind});
    }
    if (const auto* before = set_aside_before(host, node.name)) {
        plan.removals.push_back(
            {node.host, before->id, before->container_name, left_behind, TakesOver{node.name, there.id}});
    }
}

std::vector<JoinNode> joins_as_it_was(const ClusterSpec& spec, const ObservedCluster& observed,
                                      const Plan& plan, const std::vector<bool>& left_out) {
    std::vector<JoinNode> joins;
    const auto stays = [&](const ObservedNode& node) {
        return works(node) &&
               std::ranges::find(plan.removals, node.id, &RemoveContainer::id) == plan.removals.end();
    };
    std::set<ContainerId> known; // two hosts of the file may be one engine
    std::map<std::size_t, int> nodes_of;
    int nodes_beside = 1;
    for (std::size_t host = 0; host < observed.hosts.size(); ++host) {
        const auto& seen = observed.hosts[host];
        for (const auto* nodes : {&seen.nodes, &seen.aside}) {
            for (const auto& node : *nodes) {
                if (!left_out[host] && stays(node) && known.insert(node.id).second) {
                    joins.push_back(join_again(spec, seen, host, node));
                    nodes_beside = std::max(nodes_beside, ++nodes_of[host]);
                }
            }
        }
    }
    for (auto& join : joins) {
        join.request.nodes = static_cast<int>(joins.size());
        join.request.nodes_beside = nodes_beside;
    }
    std::ranges::sort(joins, {}, [](const JoinNode& join) { return join.node.rank; });
    return joins;
}

} // namespace dockdist

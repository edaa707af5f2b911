// The GPUs of a cluster's nodes with `gpus: N`, over all its hosts: what each has, keeps or gets.
#pragma once

#include "client/plan/node_config.hpp"
#include "client/plan/node_gpus.hpp"
#include "client/plan/plan.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace dockdist {

class GpuPlan {
public:
    GpuPlan(const ClusterSpec& spec, const ObservedCluster& observed);

    // Why `there` cannot go on with its GPUs: one is gone from the host. Empty where it can, or nobody
    // looked.
    std::string lost(const NodeSpec& node, const ObservedNode& there) const;
    // Whether `there` is as it would be made now, but for the way to its GPUs: its engine told of another
    // when it was made. No job should end for that. `input`: what it would be made of now.
    bool went_other_way(const ObservedNode& there, NodeConfigInput input, bool rdma) const;
    // Asks for a look at the host, which chooses, and sees what is gone, where `node` needs that.
    void want_look(const NodeSpec& node, PlanResult& result) const;
    // What a new container of the node gets: nothing where the file names its GPUs, or nobody looked yet.
    // Errors go to `result`.
    std::optional<ChosenGpus> choose(const NodeSpec& node, PlanResult& result);
    // Makes a node's configuration ask for `gpus`, and bear the label of its GPUs.
    void give(const NodeSpec& node, const std::optional<ChosenGpus>& gpus, ContainerConfig& config) const;

private:
    const ObservedHost& seen(const NodeSpec& node) const { return observed_.hosts[node.host]; }

    const ClusterSpec& spec_;
    const ObservedCluster& observed_;
    std::map<NodeName, std::vector<std::string>> had_{}; // of nodes that are there
    std::set<std::string> taken_{};                      // by nodes of this cluster
};

} // namespace dockdist

#include "shared/rdma/fabric.hpp"

#include <algorithm>

namespace dockdist::rdma {

std::vector<Unfit> unfit_nodes(const Fabric& fabric) {
    std::vector<Unfit> unfit;
    for (const auto& node : fabric.nodes) {
        if (!node.lacks.empty()) {
            unfit.push_back({node.name, node.lacks});
        }
    }
    // Subnets of RoCE may be routed; those of InfiniBand are not, as a rule, and then nothing gets through.
    if (unfit.empty() && fabric.apart && fabric.link == "InfiniBand") {
        for (const auto& node : fabric.nodes) {
            const auto first = std::ranges::find_if(node.ports, &Port::used);
            if (first != node.ports.end()) {
                unfit.push_back({node.name, "it is in the InfiniBand subnet " + first->network +
                                                ", where not all other nodes are"});
            }
        }
    }
    return unfit;
}

} // namespace dockdist::rdma

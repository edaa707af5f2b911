#include "client/plan/plan.hpp"

#include <fmt/format.h>

namespace dockdist {

std::string container_name(const ClusterName& cluster, const NodeName& node) {
    return "dockdist-" + cluster.str() + "-" + node.str();
}

std::string lock_name(const ClusterName& cluster) {
    return container_name(cluster, NodeName("lock"));
}

std::string host_label(const HostSpec& host) {
    return host.docker.url.empty() ? host.name.str()
                                   : fmt::format("{} ({})", host.name.str(), host.docker.url);
}

std::string node_label(const NodeName& node, const HostSpec& host) {
    return node.str() + " on " + host_label(host);
}

} // namespace dockdist

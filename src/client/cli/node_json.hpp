// A ready node as commands print it with -o json.
#pragma once

#include "client/observe/observe.hpp"
#include "client/spec/cluster_spec.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {

inline nlohmann::json node_json(const ReadyNode& node, const ClusterSpec& spec) {
    return {{"node", node.name.str()},
            {"rank", node.record.rank},
            {"host", spec.hosts[node.host].name.str()},
            {"address", node.record.address},
            {"interface", node.record.interface},
            {"ssh_port", node.record.ssh_port},
            {"slots", node.record.slots},
            {"gpus", node.record.gpus},
            {"container", node.id.str()}};
}

} // namespace dockdist

#include "client/plan/orphans.hpp"

#include "client/plan/plan.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {

std::vector<Orphan> find_orphans(const ClusterSpec& spec, std::set<std::string> here,
                                 const std::vector<wire::NodeRecord>& known) {
    for (const auto& node : expand_nodes(spec)) {
        here.insert(node.name.str());
    }
    std::set<std::string> machines; // of those that are here; "" where none is told
    for (const auto& record : known) {
        if (here.contains(record.node)) {
            machines.insert(record.host);
        }
    }
    machines.erase("");
    std::vector<Orphan> orphans;
    for (const auto& record : known) {
        if (!machines.contains(record.host) && is_plain_name(record.node) && is_ip_address(record.address) &&
            here.insert(record.node).second) {
            orphans.push_back(
                {record.node, record.address, container_name(spec.name, NodeName(record.node))});
        }
    }
    return orphans;
}

std::vector<Orphan> find_orphans(const ClusterSpec& spec, const ObservedCluster& observed) {
    std::set<std::string> here;
    for (const auto& host : observed.hosts) {
        for (const auto& node : host.nodes) {
            here.insert(node.node.str());
        }
    }
    return observed.known ? find_orphans(spec, std::move(here), *observed.known) : std::vector<Orphan>();
}

Error orphan_warning(const Orphan& orphan) {
    return {ErrorKind::node, fmt::format("{} ({})", orphan.node, orphan.address),
            fmt::format("its host is no longer in the file, and its container {} may still run there",
                        orphan.container),
            fmt::format("remove it there: `docker rm -f {0}` (or `podman rm -f {0}`); or from here, with the "
                        "host's address: `dockdist --hosts ADDRESS down`",
                        orphan.container)};
}

void to_json(nlohmann::json& json, const Orphan& orphan) {
    json = {{"node", orphan.node}, {"address", orphan.address}, {"container", orphan.container}};
}

} // namespace dockdist

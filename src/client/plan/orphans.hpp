// Nodes that the cluster had on hosts that its file names no longer: nobody can reach them by the file.
#pragma once

#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/error.hpp"
#include "shared/wire/join.hpp"

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct Orphan {
    std::string node{}, address{}, container{};
    bool operator==(const Orphan&) const = default;
};

// Pure. `here`: the names of the nodes that stand on the hosts of the file. `known`: whom these know, which
// is any node's word: only names and addresses are taken. Nodes on a machine of the file are none: they are
// seen there.
std::vector<Orphan> find_orphans(const ClusterSpec& spec, std::set<std::string> here,
                                 const std::vector<wire::NodeRecord>& known);

// The same of all that was seen; nothing where nobody was asked whom they know.
std::vector<Orphan> find_orphans(const ClusterSpec& spec, const ObservedCluster& observed);

Error orphan_warning(const Orphan& orphan);
void to_json(nlohmann::json& json, const Orphan& orphan);

} // namespace dockdist

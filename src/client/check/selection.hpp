// Which hosts and nodes a check is about: `--node`.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct CheckSelection {
    std::vector<bool> hosts{};     // in the order of ClusterSpec::hosts
    std::vector<NodeSpec> nodes{}; // in rank order
};

CheckSelection all_for_check(const ClusterSpec& spec);

// `names`: what client/spec/node_words.hpp takes, a host's name for all its nodes; none: everything. Errors
// as there.
Result<CheckSelection> select_for_check(const ClusterSpec& spec, const std::vector<std::string>& names);

} // namespace dockdist

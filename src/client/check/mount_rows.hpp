// Whether what the file mounts from every host is the same storage there.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "client/spec/cluster_spec.hpp"

#include <string>
#include <vector>

namespace dockdist {

// The folders of the file's bind mounts that may be shared: none of the system's own, none where all nodes
// are on one host.
std::vector<std::string> mounts_to_compare(const ClusterSpec& spec, const std::vector<std::size_t>& hosts);

// One row for all that are shared, or local by their name; one for each that is not the same everywhere.
std::vector<CheckRow> judge_mounts(const std::vector<CheckedNode>& nodes,
                                   const std::vector<std::string>& folders);

} // namespace dockdist

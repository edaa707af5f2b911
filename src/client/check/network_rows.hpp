// The nodes' interfaces and names.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

// Rows: interface, mtu, names. `addresses`: of every node, as its record says. Not merged.
std::vector<CheckRow> judge_network(const std::vector<CheckedNode>& nodes,
                                    const std::map<std::string, std::string>& addresses);

} // namespace dockdist

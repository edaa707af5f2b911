// Which nodes a job runs on.
#pragma once

#include "observe/observe.hpp"

#include <string>
#include <vector>

namespace dockdist {

// `selection`: "" all, "N" the first N, "a,b" those of these names, in the order given. `excluded`: "a,b",
// taken out first. The last `spares` of what is chosen are spare; "N" chooses them beside the N. Errors
// (usage): more nodes than there are, an unknown or repeated name, a node both named and excluded, none left.
Result<std::vector<ReadyNode>> select_nodes(std::vector<ReadyNode> nodes, const std::string& selection,
                                            const std::string& excluded, std::size_t spares = 0);

} // namespace dockdist

// What there is to send where it stands on a node or host, and not here.
#pragma once

#include "client/sync/local_tree.hpp"
#include "client/sync/node_stream.hpp"

#include <string>
#include <vector>

namespace dockdist {

// The folder's content, as scan() has that of one here; only `exclude` leaves anything out. Its `path` is
// empty. The stream has the folder open then. What the node says is not believed: names stay in the folder,
// each comes once, and 20 million are the end.
Task<Result<LocalTree>> scan_node(NodeStream& node, std::string folder, std::vector<std::string> exclude);

} // namespace dockdist

// A tree of this node on its way to the client: `fetch`.
#pragma once

#include "node/sync/sync_output.hpp"

#include <string>

namespace dockdist::node {

// Sends the file or folder at `path`, whose last link is followed. A file gets the name ""'s place: its last
// component. What is neither file, folder nor link, and links that lead out of the folder, become warnings.
void send_tree(const std::string& path, SyncOutput& out);

} // namespace dockdist::node

// How a node logs in to another for dockdist's own sake, where many do so at once.
#pragma once

#include "node/system/paths.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// The first words of the ssh; options, the node and the command follow. Only for what is no secret (public
// keys, a question about a limit): it does without the key exchange that withstands quantum computers, which
// takes five times the processor.
inline std::vector<std::string> quick_ssh() {
    return {"ssh", "-F", paths().ssh_config, "-o", "KexAlgorithms=curve25519-sha256"};
}

} // namespace dockdist::node

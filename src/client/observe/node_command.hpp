// dockdist-init in a node, as its root: the one program that the client has engines start so.
#pragma once

#include "client/container/types.hpp"
#include "shared/wire/layout.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// `words` follow the program.
inline ExecConfig node_command(std::vector<std::string> words) {
    words.insert(words.begin(), layout::init);
    return {.command = std::move(words), .user = "0:0"};
}

} // namespace dockdist

// `dockdist-init sync JSON`: the node's side of sync, cp and collect, on stdin and stdout; see
// shared/wire/tree.hpp.
#pragma once

#include <string>

namespace dockdist::node {

int run_sync(const std::string& opening);

} // namespace dockdist::node

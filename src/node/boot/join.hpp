// The node's side of the key exchange.
#pragma once

#include <string>

namespace dockdist::node {

// `dockdist-init join JSON` (wire/join.hpp). Returns the exit status.
int run_join(const std::string& request);

} // namespace dockdist::node

// All ranks of one node, for launchers that start nothing by themselves.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init ranks COUNT FIRST WORLD`: COUNT ranks (rank_shim.hpp), numbered from FIRST of WORLD. When
// one fails the others get TERM. Returns the first failure's code, 128 + signal; 0 when all went well.
int run_ranks(const std::vector<std::string>& arguments);

} // namespace dockdist::node

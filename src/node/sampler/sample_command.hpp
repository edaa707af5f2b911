// What a node tells of how busy it is.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init sample [--interval MS]` (shared/wire/sample.hpp). Returns the exit status.
int run_sample(const std::vector<std::string>& arguments);

} // namespace dockdist::node

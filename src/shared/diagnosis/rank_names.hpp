// Ranks of a job in words, some of many.
#pragma once

#include <string>
#include <vector>

namespace dockdist {

// "rank 3", "ranks 3, 4 and 9", "ranks 0, 1, 2, 3 and 12 more".
std::string rank_names(const std::vector<int>& ranks);

} // namespace dockdist

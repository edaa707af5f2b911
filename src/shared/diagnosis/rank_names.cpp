#include "shared/diagnosis/rank_names.hpp"

#include <algorithm>
#include <cstddef>

namespace dockdist {

std::string rank_names(const std::vector<int>& ranks) {
    constexpr std::size_t most_named = 5;
    const auto named = ranks.size() <= most_named ? ranks.size() : most_named - 1;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < named; ++i) {
        const bool last = i > 0 && i + 1 == ranks.size();
        text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(ranks[i]);
    }
    return text + (named < ranks.size() ? " and " + std::to_string(ranks.size() - named) + " more" : "");
}

} // namespace dockdist

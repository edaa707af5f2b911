#include "probe/size_plan.hpp"

#include <algorithm>

namespace dockdist::probe {

std::vector<std::uint64_t> sizes_between(std::uint64_t first, std::uint64_t last, std::uint64_t factor) {
    std::vector<std::uint64_t> sizes;
    if (first == 0 || factor < 2) {
        return sizes;
    }
    for (auto size = first; size <= last; size *= factor) {
        sizes.push_back(size);
        if (size > last / factor) {
            break; // the next one is too large, or too large to count
        }
    }
    return sizes;
}

std::uint64_t largest_size(std::uint64_t free) {
    return (free - free / 8) / 2;
}

SizePlan plan_sizes(std::vector<std::uint64_t> wanted, std::uint64_t limit) {
    std::ranges::sort(wanted);
    const auto repeated = std::ranges::unique(wanted);
    wanted.erase(repeated.begin(), repeated.end());
    const auto end = std::ranges::upper_bound(wanted, limit);
    return {.sizes = {wanted.begin(), end}, .left_out = {end, wanted.end()}};
}

} // namespace dockdist::probe

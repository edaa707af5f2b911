#include "probe/size_plan.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace size_plan_test {

using namespace dockdist::probe;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("a series of sizes") {
    CHECK(sizes_between(1024, 16384, 4) == Sizes{1024, 4096, 16384});
    CHECK(sizes_between(1024, 16383, 4) == Sizes{1024, 4096});
    CHECK(sizes_between(1024, std::uint64_t{8} << 30U, 2).size() == 24);
    CHECK(sizes_between(7, 7, 2) == Sizes{7});
}

TEST_CASE("a series that makes no sense is empty, and none overflows") {
    CHECK(sizes_between(0, 100, 2).empty());
    CHECK(sizes_between(1, 100, 1).empty());
    CHECK(sizes_between(8, 4, 2).empty());
    CHECK(sizes_between(1, std::numeric_limits<std::uint64_t>::max(), 2).size() == 64);
}

TEST_CASE("two buffers fit, with an eighth to spare") {
    constexpr std::uint64_t gib = 1U << 30U;
    CHECK(largest_size(80 * gib) == 35 * gib);
    CHECK(largest_size(0) == 0);
    // 8 GiB fit into a GPU of 24 GiB, and not into one of 16.
    CHECK(largest_size(24 * gib) >= 8 * gib);
    CHECK(largest_size(16 * gib) < 8 * gib);
}

TEST_CASE("what does not fit is left out, and said") {
    const auto plan = plan_sizes({4096, 1024, 1 << 20, 4096}, 4096);
    CHECK(plan.sizes == Sizes{1024, 4096});
    CHECK(plan.left_out == Sizes{1 << 20});
    CHECK(plan_sizes({1024}, 0).sizes.empty());
}

} // namespace size_plan_test

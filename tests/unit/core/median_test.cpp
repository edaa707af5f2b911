#include "shared/core/median.hpp"

#include <doctest/doctest.h>

namespace median_test {

using namespace dockdist;

TEST_CASE("of an even number the median is the mean of the two in the middle") {
    CHECK(median({}) == 0);
    CHECK(median({7}) == 7);
    CHECK(median({3, 1}) == 2);
    CHECK(median({9, 1, 4}) == 4);
    CHECK(median({10, 1, 4, 2}) == 3);
}

TEST_CASE("who judges takes the upper or the lower one") {
    CHECK(upper_median({}) == 0);
    CHECK(lower_median({}) == 0);
    CHECK(upper_median({10, 1, 4, 2}) == 4);
    CHECK(lower_median({10, 1, 4, 2}) == 2);
    CHECK(upper_median({9, 1, 4}) == 4);
    CHECK(lower_median({9, 1, 4}) == 4);
}

} // namespace median_test

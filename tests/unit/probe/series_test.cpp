#include "probe/series.hpp"

#include <doctest/doctest.h>

namespace series_test {

using dockdist::probe::Series;

TEST_CASE("a series without a budget has all its iterations") {
    Series series(20, 0);
    series.took(1024, 3'600'000'000);
    CHECK(series.iterations_for(1U << 30U) == 20);
}

TEST_CASE("large sizes get fewer iterations, and at last none") {
    Series series(20, 4000);
    CHECK(series.iterations_for(1U << 20U) == 20); // nothing is known yet
    series.took(1U << 20U, 24'000);                // 24 ms for a MiB: 1 ms an iteration
    CHECK(series.iterations_for(8U << 20U) == 20);
    series.took(8U << 20U, 192'000);
    CHECK(series.iterations_for(256U << 20U) == 10); // 256 ms an iteration of the 3.8 s that are left
    CHECK(series.iterations_for(1U << 30U) == 0);
}

TEST_CASE("a series whose time is spent ends") {
    Series series(20, 1000);
    series.took(1024, 2'000'000);
    CHECK(series.iterations_for(1024) == 0);
    CHECK(series.iterations_for(2048) == 0);
}

} // namespace series_test

#include "shared/usage/idle_watch.hpp"

#include <doctest/doctest.h>

namespace idle_watch_test {

using namespace dockdist;
using wire::Figure;

namespace {

Reading loads(std::int64_t at_ms, std::initializer_list<double> loads) {
    Reading reading{.at_ms = at_ms};
    for (const auto load : loads) {
        reading.values.push_back({Figure::gpu_utilization, static_cast<int>(reading.values.size()), load});
    }
    reading.values.push_back({Figure::cpu, -1, 12});
    return reading;
}

} // namespace

TEST_CASE("GPUs are idle when all of them have done nothing for so long") {
    IdleWatch watch(10'000, 2);
    CHECK_FALSE(watch.begin(0));
    CHECK_FALSE(watch.hear(loads(1000, {0, 0})).has_value());
    CHECK_FALSE(watch.hear(loads(9999, {0, 0})).has_value());
    CHECK(watch.hear(loads(10'000, {0, 0})) == true);
    CHECK_FALSE(watch.hear(loads(11'000, {0, 0})).has_value()); // told once
    CHECK(watch.idle_for_ms(11'000) == 11'000);
    CHECK(watch.hear(loads(12'000, {0, 1})) == false);
    CHECK_FALSE(watch.idle_for_ms(12'000).has_value());
    CHECK_FALSE(watch.hear(loads(21'999, {0, 0})).has_value());
    CHECK(watch.hear(loads(22'000, {0, 0})) == true);
}

TEST_CASE("a GPU that tells nothing is taken for busy") {
    IdleWatch watch(5000, 2);
    (void)watch.begin(0);
    CHECK_FALSE(watch.hear(loads(6000, {0})).has_value());
    CHECK_FALSE(watch.hear(loads(10'000, {0, 0})).has_value());
    CHECK(watch.hear(loads(11'000, {0, 0})) == true);
    CHECK(watch.hear(loads(12'000, {})) == false);
}

TEST_CASE("an attempt begins anew, and who has no GPUs rests from the beginning") {
    IdleWatch watch(5000, 1);
    (void)watch.begin(0);
    CHECK(watch.hear(loads(5000, {0})) == true);
    CHECK_FALSE(watch.begin(6000));
    CHECK_FALSE(watch.hear(loads(10'000, {0})).has_value());
    CHECK(watch.hear(loads(11'000, {0})) == true);

    IdleWatch none(5000, 0);
    CHECK(none.begin(0));
    CHECK(none.gpus() == 0);
    CHECK_FALSE(none.idle_for_ms(60'000).has_value());
    CHECK_FALSE(none.hear(loads(60'000, {})).has_value());
    IdleWatch unwatched(0, 0);
    CHECK_FALSE(unwatched.begin(0));
    IdleWatch also(0, 1);
    CHECK_FALSE(also.hear(loads(60'000, {0})).has_value());
}

} // namespace idle_watch_test

#include "client/cluster/lock.hpp"

#include <doctest/doctest.h>

namespace lock_test {

using namespace dockdist;

TEST_CASE("a holder survives its label") {
    const auto holder = this_process();
    CHECK(parse_holder(to_label(holder)) == holder);
    CHECK_FALSE(parse_holder("").has_value());
    CHECK_FALSE(parse_holder("[1]").has_value());
}

TEST_CASE("only on its own machine can a holder be seen to be gone") {
    const auto us = this_process();
    CHECK(may_be_alive(us, us));
    auto gone = us;
    gone.pid = 0;
    CHECK_FALSE(may_be_alive(gone, us));
    auto before_reboot = us;
    before_reboot.boot = "another";
    CHECK_FALSE(may_be_alive(before_reboot, us));
    auto elsewhere = gone;
    elsewhere.machine = "another";
    CHECK(may_be_alive(elsewhere, us));
}

TEST_CASE("a lock's age is told by its host's own clock, whatever the zone") {
    constexpr std::int64_t created = 1700000000; // 2023-11-14T22:13:20Z
    CHECK(age_of(created, "2023-11-14T22:14:20.123456789Z") == std::chrono::seconds(60));
    CHECK(age_of(created, "2023-11-15T00:14:20.1+02:00") == std::chrono::seconds(60));
    CHECK(age_of(created, "2023-11-14T17:14:20-05:00") == std::chrono::seconds(60));
    CHECK(age_of(created, "") == std::chrono::seconds(0));
    CHECK(age_of(created, "2020-01-01T00:00:00Z") == std::chrono::seconds(0));
}

} // namespace lock_test

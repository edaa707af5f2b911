#include "shared/load/rates.hpp"

#include <doctest/doctest.h>

namespace rates_test {

using namespace dockdist;

TEST_CASE("rates are differences over the time between two samples") {
    const wire::SampleFacts facts{.cpus = 4, .network = {"a", "b"}};
    wire::Sample before{.clock_ms = 1000, .cpu_ms = 10'000, .disk_read = 100, .disk_written = 0};
    before.network = {{.received = 10, .sent = 20}, {.received = 5}};
    before.ranks = {{.job = "j", .rank = 0, .cpu_ms = 1000}, {.job = "j", .rank = 1, .cpu_ms = 5000}};
    wire::Sample now{.clock_ms = 3000, .cpu_ms = 14'000, .disk_read = 300};
    now.network = {{.received = 1010, .sent = 10}, {.received = 105, .sent = 7}};
    now.ranks = {{.job = "j", .rank = 1, .cpu_ms = 4000},
                 {.job = "j", .rank = 0, .cpu_ms = 4000},
                 {.job = "k", .rank = 0, .cpu_ms = 4000}};
    const auto rates = rates_between(facts, before, now);
    CHECK(rates.seconds == 2);
    CHECK(rates.cpu_share == 0.5);
    CHECK(rates.disk_read == 100);
    CHECK_FALSE(rates.disk_written);
    CHECK(rates.network[0].received == 500);
    CHECK_FALSE(rates.network[0].sent); // it has begun anew
    CHECK(rates.network[1].received == 50);
    CHECK_FALSE(rates.network[1].sent);
    REQUIRE(rates.rank_cpus.size() == 3);
    CHECK_FALSE(rates.rank_cpus[0]); // another process by that rank
    CHECK(rates.rank_cpus[1] == 1.5);
    CHECK_FALSE(rates.rank_cpus[2]);
    CHECK(sum_of(rates.network).received == 550);
    CHECK_FALSE(sum_of(rates.network).sent);
}

TEST_CASE("samples of one moment have no rates") {
    const wire::Sample one{.clock_ms = 5, .cpu_ms = 1};
    CHECK_FALSE(rates_between({.cpus = 1}, one, one).cpu_share);
}

} // namespace rates_test

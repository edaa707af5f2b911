#include "shared/gpu/place.hpp"

#include <doctest/doctest.h>

namespace place_test {

using namespace dockdist;
using Indices = std::vector<std::size_t>;

namespace {

// A node with so many units, of which so many are free; it fits where there are as many as are wanted.
Site site(std::size_t units, std::size_t free, std::size_t wanted, std::vector<std::size_t> domains = {}) {
    static int named = 0;
    Site one{.fits = free >= wanted, .wanted = static_cast<int>(wanted), .domains = std::move(domains)};
    for (std::size_t i = 0; i < units; ++i) {
        one.could.push_back("unit-" + std::to_string(named++));
        if (i < free) {
            one.free.push_back(one.could.back());
        }
    }
    return one;
}

Seats any(std::size_t count, std::size_t of) {
    Seats seats{.count = count};
    for (std::size_t i = 0; i < of; ++i) {
        seats.among.push_back(i);
    }
    return seats;
}

} // namespace

TEST_CASE("place: among nodes that are alike the first ones, of others those that are free") {
    CHECK(place({site(8, 8, 8), site(8, 8, 8), site(8, 8, 8)}, {any(2, 3)}) == Indices{0, 1});
    CHECK(place({site(8, 2, 8), site(8, 8, 8), site(8, 8, 8)}, {any(2, 3)}) == Indices{1, 2});
    CHECK_FALSE(place({site(8, 2, 8), site(8, 8, 8), site(8, 7, 8)}, {any(2, 3)}));
    CHECK_FALSE(place({}, {any(1, 0)}));
}

TEST_CASE("place: best fit over nodes that are partly used, and whole nodes stay whole") {
    CHECK(place({site(8, 8, 1), site(8, 5, 1), site(8, 2, 1)}, {any(1, 3)}) == Indices{2});
    CHECK(place({site(2, 2, 1), site(8, 5, 1)}, {any(1, 2)}) ==
          Indices{1}); // although less would be left of the first
    CHECK(place({site(8, 8, 2), site(2, 2, 2)}, {any(1, 2)}) == Indices{1}); // of which nothing is left
    CHECK(place({site(8, 8, 1), site(8, 5, 1), site(8, 2, 1)}, {any(2, 3)}) == Indices{1, 2});
}

TEST_CASE("place: one domain where one has enough, else as few as there can be") {
    const auto in = [](std::size_t domain, std::size_t free = 8) {
        return site(8, free, 8, {9, domain}); // all are in 9, which says nothing
    };
    CHECK(place({in(1), in(2), in(2), in(1, 0)}, {any(2, 4)}) == Indices{1, 2});
    CHECK(place({in(1), in(2), in(2), in(1)}, {any(2, 4)}) == Indices{0, 3});
    CHECK(place({in(1), in(2), in(2), in(3)}, {any(3, 4)}) == Indices{0, 1, 2});
    CHECK(place({in(1), in(2), in(3), in(2)}, {any(3, 4)}) == Indices{0, 1, 3});
    // The smaller one, as the larger one may be wanted whole.
    CHECK(place({in(1), in(1), in(1), in(2), in(2)}, {any(2, 5)}) == Indices{3, 4});
    // Rows of racks: one rack of a row, one row of racks.
    const auto row = [](std::size_t row, std::size_t rack) { return site(8, 8, 8, {10 + row, rack}); };
    const std::vector<Site> hall{row(0, 0), row(0, 1), row(1, 2), row(1, 2), row(1, 3)};
    CHECK(place(hall, {any(2, 5)}) == Indices{2, 3});
    CHECK(place(hall, {any(3, 5)}) == Indices{2, 3, 4});
}

TEST_CASE("place: several seats, each among its own, and no node twice") {
    const std::vector<Site> four{site(8, 8, 8), site(8, 8, 8), site(8, 8, 8), site(8, 8, 8)};
    CHECK(place(four, {{.count = 1, .among = {2, 3}}, {.count = 2, .among = {0, 1, 2}}}) == Indices{2, 0, 1});
    CHECK(place(four, {{.count = 1, .among = {1}}, {.count = 1, .among = {1, 0}}}) == Indices{1, 0});
    CHECK_FALSE(place(four, {{.count = 1, .among = {1}}, {.count = 1, .among = {1}}}));
}

TEST_CASE("place: nodes of one host that see the same units are not too many for these") {
    auto first = site(4, 4, 2);
    auto second = first;
    auto third = first;
    CHECK(place({first, second, third, site(4, 4, 2)}, {any(3, 4)}) == Indices{0, 1, 3});
    CHECK_FALSE(place({first, second, third}, {any(3, 3)}));
    CHECK(place_to_wait({first, second, third, site(4, 0, 2)}, {any(3, 4)}) == Indices{0, 1, 3});
}

TEST_CASE("place_to_wait: where fewest are ahead, then where least is missing") {
    auto behind = site(8, 6, 8);
    behind.ahead = 1;
    CHECK(place_to_wait({behind, site(8, 0, 8), site(8, 5, 8), site(8, 8, 8)}, {any(2, 4)}) == Indices{2, 3});
    auto soon = site(8, 0, 8);
    soon.left_s = 60;
    CHECK(place_to_wait({site(8, 5, 8), soon}, {any(1, 2)}) == Indices{1});
    auto away = site(8, 8, 8);
    away.there = false;
    CHECK(place_to_wait({away, behind}, {any(1, 2)}) == Indices{1});
    CHECK_FALSE(place_to_wait({away, behind}, {any(2, 2)}));
}

TEST_CASE("place: a thousand nodes in racks, and almost all of them") {
    std::vector<Site> sites;
    for (std::size_t i = 0; i < 1000; ++i) {
        sites.push_back(site(8, i % 9, 4, {i / 16}));
    }
    const auto few = place(sites, {any(8, 1000)});
    REQUIRE(few);
    for (const auto index : *few) {
        CHECK(sites[index].domains == sites[few->front()].domains);
    }
    CHECK(place(sites, {any(500, 1000)})->size() == 500);
    CHECK_FALSE(place(sites, {any(900, 1000)}));
}

} // namespace place_test

#include "shared/wire/partners.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace partners_test {

using namespace dockdist::wire;

namespace {

// `hosts` hosts with `each` nodes, in the order of the ranks.
std::vector<std::string> cluster(std::size_t hosts, std::size_t each) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < hosts * each; ++i) {
        addresses.push_back("10.0.0." + std::to_string(i / each));
    }
    return addresses;
}

} // namespace

TEST_CASE("in a cluster of four or fewer every node tries all others") {
    for (const auto nodes : std::vector<std::size_t>{1, 2, 3, 4}) {
        for (std::size_t place = 0; place < nodes; ++place) {
            CHECK(partners_of(place, cluster(nodes, 1)).size() == nodes - 1);
            CHECK(partners_of(place, cluster(1, nodes)).size() == nodes - 1);
        }
    }
}

TEST_CASE("one node a host: the next, the one after it and the one half way round") {
    CHECK(partners_of(0, cluster(64, 1)) == std::vector<std::size_t>{1, 2, 32});
    CHECK(partners_of(63, cluster(64, 1)) == std::vector<std::size_t>{0, 1, 31});
}

TEST_CASE(
    "nodes try three others, no one itself or one twice, and each is tried by three, from another host too") {
    const std::vector<std::pair<std::size_t, std::size_t>> shapes{{64, 1}, {2, 32}, {8, 8}, {3, 7}, {2, 3}};
    for (const auto& [hosts, each] : shapes) {
        CAPTURE(hosts);
        CAPTURE(each);
        const auto addresses = cluster(hosts, each);
        std::vector<std::vector<std::size_t>> tried_by(addresses.size());
        for (std::size_t place = 0; place < addresses.size(); ++place) {
            auto partners = partners_of(place, addresses);
            CHECK(partners.size() == 3);
            CHECK(std::ranges::count(partners, place) == 0);
            std::ranges::sort(partners);
            CHECK(std::ranges::adjacent_find(partners) == partners.end());
            for (const auto partner : partners) {
                tried_by.at(partner).push_back(place);
            }
        }
        for (std::size_t place = 0; place < addresses.size(); ++place) {
            CAPTURE(place);
            CHECK(tried_by[place].size() == 3);
            CHECK(std::ranges::any_of(tried_by[place],
                                      [&](auto by) { return addresses[by] != addresses[place]; }));
        }
    }
}

TEST_CASE("every node tries one of another host, however unequal the hosts are") {
    std::vector<std::string> addresses(40, "a");
    addresses[20] = "b";
    for (std::size_t place = 0; place < addresses.size(); ++place) {
        const auto partners = partners_of(place, addresses);
        CHECK(partners.size() == 3);
        CHECK(
            std::ranges::any_of(partners, [&](auto other) { return addresses[other] != addresses[place]; }));
    }
}

} // namespace partners_test

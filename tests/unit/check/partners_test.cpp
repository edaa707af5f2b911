#include "client/check/partners.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace partners_test {

using namespace dockdist;

TEST_CASE("a quick check of few nodes tries all ways, of many as many as cost no more than 4 N connections") {
    for (const std::size_t nodes : {1U, 2U, 3U, 4U, 5U, 6U, 16U, 17U, 1024U}) {
        CAPTURE(nodes);
        std::map<std::size_t, int> reached;
        std::size_t ways = 0;
        for (std::size_t node = 0; node < nodes; ++node) {
            const auto peers = quick_peers(node, nodes);
            CHECK(std::ranges::find(peers, node) == peers.end());
            ways += peers.size();
            for (const auto peer : peers) {
                ++reached[peer];
            }
        }
        CHECK(ways == (nodes <= 4 ? nodes * (nodes - 1) : 2 * nodes)); // of logins, and again of meetings
        for (const auto& [node, times] : reached) {
            CHECK(times == (nodes <= 4 ? static_cast<int>(nodes) - 1 : 2)); // nobody is left out
        }
    }
}

TEST_CASE(
    "a deep check's rounds try every way that the quick one left, once, and nobody is met by many at once") {
    constexpr std::size_t at_once = 4;
    for (const std::size_t nodes : {2U, 4U, 5U, 9U, 16U}) {
        CAPTURE(nodes);
        std::set<std::pair<std::size_t, std::size_t>> ways;
        const auto add = [&](std::size_t from, std::size_t to) { CHECK(ways.insert({from, to}).second); };
        for (std::size_t node = 0; node < nodes; ++node) {
            for (const auto peer : quick_peers(node, nodes)) {
                add(node, peer);
            }
        }
        for (const auto& round : further_rounds(nodes, at_once)) {
            REQUIRE(round.size() == nodes);
            std::map<std::size_t, std::size_t> met;
            for (std::size_t node = 0; node < nodes; ++node) {
                CHECK(round[node].size() <= at_once);
                for (const auto peer : round[node]) {
                    add(node, peer);
                    CHECK(++met[peer] <= at_once);
                }
            }
        }
        CHECK(ways.size() == nodes * (nodes - 1));
    }
}

TEST_CASE("what was tried of all pairs is told only where it is not all") {
    CHECK(part_of_pairs(12, 4).empty());
    CHECK(part_of_pairs(0, 1).empty());
    CHECK(part_of_pairs(32, 16) == " (32 of 240 pairs; `check --deep` tries all)");
}

} // namespace partners_test

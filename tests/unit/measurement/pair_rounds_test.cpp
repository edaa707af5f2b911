#include "shared/measurement/pair_rounds.hpp"

#include <doctest/doctest.h>

#include <set>

namespace pair_rounds_test {

using namespace dockdist;

TEST_CASE("every pair meets once, and nobody is in two pairs of a round") {
    for (std::size_t nodes = 2; nodes <= 65; ++nodes) {
        const auto rounds = pair_rounds(nodes);
        CAPTURE(nodes);
        CHECK(rounds.size() == (nodes % 2 == 0 ? nodes - 1 : nodes));
        std::set<Pair> met;
        for (const auto& round : rounds) {
            CHECK(round.size() == nodes / 2);
            std::set<std::size_t> busy;
            for (const auto& [first, second] : round) {
                CHECK(first < second);
                CHECK(second < nodes);
                CHECK(busy.insert(first).second);
                CHECK(busy.insert(second).second);
                CHECK(met.emplace(first, second).second);
            }
        }
        CHECK(met.size() == nodes * (nodes - 1) / 2);
    }
}

TEST_CASE("of an odd number another one rests in each round") {
    std::set<std::size_t> rested;
    for (const auto& round : pair_rounds(5)) {
        std::set<std::size_t> busy;
        for (const auto& [first, second] : round) {
            busy.insert({first, second});
        }
        for (std::size_t node = 0; node < 5; ++node) {
            if (!busy.contains(node)) {
                CHECK(rested.insert(node).second);
            }
        }
    }
    CHECK(rested.size() == 5);
}

TEST_CASE("there is no pair of one") {
    CHECK(pair_rounds(0).empty());
    CHECK(pair_rounds(1).empty());
}

} // namespace pair_rounds_test

#include "shared/wire/handed_on.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace handed_on_test {

using namespace dockdist::wire;

TEST_CASE("a small cluster gets the list from the client, a large one's first node alone") {
    CHECK(told_by_client(3000, 8) == 8);
    CHECK(told_by_client(25000, 64) == 2);
    CHECK(told_by_client(400'000, 1024) == 1);
    CHECK(told_by_client(400, 1) == 1);
}

namespace {

// So many nodes on each of so many hosts.
Hands hands(std::size_t count, std::size_t each, std::size_t first) {
    std::vector<std::string> names;
    for (std::size_t place = 0; place < count * each; ++place) {
        names.push_back("10.0.0." + std::to_string(place / each));
    }
    return {names, first};
}

} // namespace

TEST_CASE("every node is handed the list by exactly one that has it before") {
    for (const auto count : std::vector<std::size_t>{1, 2, 9, 64, 1000}) {
        for (const auto each : std::vector<std::size_t>{1, 4}) {
            for (const auto first : std::vector<std::size_t>{1, 2, 7}) {
                CAPTURE(count);
                CAPTURE(each);
                CAPTURE(first);
                const auto tree = hands(count, each, first);
                const auto nodes = count * each;
                std::multiset<std::size_t> handed;
                for (std::size_t place = 0; place < nodes; ++place) {
                    const auto receivers = tree.receivers_of(place);
                    CHECK(receivers.size() <= 8 + each - 1);
                    for (const auto receiver : receivers) {
                        REQUIRE(tree.giver_of(receiver) == place);
                        REQUIRE(place < receiver);
                        handed.insert(receiver);
                    }
                }
                const auto told = nodes <= first ? nodes : std::min(first, count);
                REQUIRE(handed.size() == nodes - told);
                CHECK(std::set(handed.begin(), handed.end()).size() == handed.size());
            }
        }
    }
}

TEST_CASE("a host gets the list once, and its other nodes from its first one") {
    const auto tree = hands(3, 32, 2);
    CHECK(tree.giver_of(0) == std::nullopt);
    CHECK(tree.giver_of(31) == 0);
    CHECK(tree.giver_of(32) == std::nullopt);
    CHECK(tree.giver_of(63) == 32);
    CHECK(tree.giver_of(64) == 0);
    CHECK(tree.receivers_of(0).size() == 32);
    CHECK(tree.receivers_of(31).empty());
    CHECK(tree.hands_before(95) == 2);
}

TEST_CASE("the list goes through few hands") {
    CHECK(hands(64, 1, 2).hands_before(0) == 0);
    CHECK(hands(64, 1, 1).hands_before(1) == 1);
    CHECK(hands(64, 1, 2).hands_before(63) == 2);
    CHECK(hands(1024, 1, 1).hands_before(1023) == 4);
    CHECK(hands(4097, 1, 1).hands_before(4096) == 4);
    CHECK(hands(4, 2, 8).hands_before(7) == 0);
}

} // namespace handed_on_test

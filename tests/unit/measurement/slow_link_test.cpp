#include "shared/measurement/slow_link.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace slow_link_test {

using namespace dockdist;
using Nodes = std::vector<std::size_t>;
using Links = std::vector<Pair>;

namespace {

// Every pair of so many nodes, a few per cent apart.
std::vector<PairMeasurement> matrix(std::size_t nodes,
                                    const std::function<double(std::size_t, std::size_t)>& share) {
    std::vector<PairMeasurement> measurements;
    for (std::size_t a = 0; a < nodes; ++a) {
        for (std::size_t b = a + 1; b < nodes; ++b) {
            const auto noise = 1 + 0.01 * static_cast<double>((a * 7 + b * 3) % 5) - 0.02;
            measurements.push_back({.pair = {a, b}, .bandwidth = 45 * noise * share(a, b)});
        }
    }
    return measurements;
}

} // namespace

TEST_CASE("nothing is named where all are alike") {
    for (std::size_t nodes = 0; nodes <= 9; ++nodes) {
        const auto slow = find_slow(nodes, matrix(nodes, [](auto, auto) { return 1.0; }));
        CAPTURE(nodes);
        CHECK(slow.nodes.empty());
        CHECK(slow.links.empty());
    }
}

TEST_CASE("a slow node is named, not its links") {
    for (std::size_t nodes = 3; nodes <= 9; ++nodes) {
        for (std::size_t bad = 0; bad < nodes; ++bad) {
            const auto slow = find_slow(
                nodes, matrix(nodes, [&](auto a, auto b) { return a == bad || b == bad ? 0.5 : 1.0; }));
            CAPTURE(nodes);
            CHECK(slow.nodes == Nodes{bad});
            CHECK(slow.links.empty());
            CHECK(slow.usual == doctest::Approx(45).epsilon(0.03));
        }
    }
}

TEST_CASE("a slow link is named, not its nodes") {
    for (std::size_t nodes = 4; nodes <= 9; ++nodes) {
        const auto slow =
            find_slow(nodes, matrix(nodes, [](auto a, auto b) { return a == 1 && b == 3 ? 0.3 : 1.0; }));
        CAPTURE(nodes);
        CHECK(slow.nodes.empty());
        CHECK(slow.links == Links{{1, 3}});
    }
}

TEST_CASE("a slow node and a slow link elsewhere") {
    const auto slow = find_slow(6, matrix(6, [](auto a, auto b) {
                                    return a == 0 ? 0.4 : a == 2 && b == 5 ? 0.6 : 1.0;
                                }));
    CHECK(slow.nodes == Nodes{0});
    CHECK(slow.links == Links{{2, 5}});
}

TEST_CASE("of two nodes nobody can say which one is slow") {
    const auto slow = find_slow(2, {{.pair = {0, 1}, .bandwidth = 1}});
    CHECK(slow.nodes.empty());
    CHECK(slow.links.empty());
    CHECK(slow.usual == 1);
}

TEST_CASE("a few per cent less are noise, and a wide spread hides no more than itself") {
    CHECK(slow_ones({100, 101, 99, 90}).empty());
    CHECK(slow_ones({100, 101, 99, 80}) == Nodes{3});
    CHECK(slow_ones({100, 60, 140, 80, 120, 70}).empty());
    CHECK(slow_ones({100, 60, 140, 80, 120, 0.1}) == Nodes{5}); // what hardly works stands out of any spread
    CHECK(slow_ones({100, 50}).empty());
    CHECK(slow_ones({}).empty());
}

TEST_CASE("figures of nodes that are none are passed over") {
    CHECK(find_slow(2, {{.pair = {0, 9}, .bandwidth = 1}}).nodes.empty());
}

} // namespace slow_link_test

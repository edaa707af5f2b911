#include "client/check/link_rows.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace link_rows_test {

using namespace dockdist;
using wire::LinkOutcome;
using State = CheckRow::State;

namespace {

std::vector<NodeName> some_nodes(std::size_t count) {
    std::vector<NodeName> nodes;
    for (std::size_t i = 0; i < count; ++i) {
        nodes.emplace_back("node-" + std::to_string(i));
    }
    return nodes;
}

std::vector<PathAnswer> all_ways(std::size_t nodes,
                                 const std::function<LinkOutcome(std::size_t, std::size_t)>& outcome) {
    std::vector<PathAnswer> paths;
    for (std::size_t from = 0; from < nodes; ++from) {
        for (std::size_t to = 0; to < nodes; ++to) {
            if (from != to) {
                auto& path =
                    paths.emplace_back(PathAnswer{.from = from, .to = to, .outcome = outcome(from, to)});
                if (path.outcome == LinkOutcome::open) {
                    path.latency_us = 80;
                }
            }
        }
    }
    return paths;
}

std::vector<PathBandwidth> all_bandwidths(std::size_t nodes,
                                          const std::function<double(std::size_t, std::size_t)>& bandwidth) {
    std::vector<PathBandwidth> paths;
    for (std::size_t from = 0; from < nodes; ++from) {
        for (std::size_t to = 0; to < nodes; ++to) {
            if (from != to) {
                paths.push_back(
                    {.from = from, .to = to, .bytes_per_second = bandwidth(from, to), .segments = 1000});
            }
        }
    }
    return paths;
}

} // namespace

TEST_CASE("ways that are open are one row, and the latency another") {
    const auto rows = judge_paths(some_nodes(3), all_ways(3, [](auto, auto) { return LinkOutcome::open; }));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text == "rendezvous ports open both ways, large packets pass");
    CHECK(rows[1].text == "round trip 80 µs (median), slowest 80 µs from node-0 → node-1");
    CHECK(rows[1].state == State::pass);
}

TEST_CASE("between two nodes the median of the two round trips is neither of them") {
    auto paths = all_ways(2, [](auto, auto) { return LinkOutcome::open; });
    paths[1].latency_us = 120;
    CHECK(judge_paths(some_nodes(2), paths).back().text ==
          "round trip 100 µs (median), slowest 120 µs from node-1 → node-0");
}

TEST_CASE("a way that is cut is named from and to") {
    const auto rows = judge_paths(some_nodes(3), all_ways(3, [](auto from, auto to) {
                                      return from == 0 && to == 2 ? LinkOutcome::dropped : LinkOutcome::open;
                                  }));
    REQUIRE(rows.size() == 2); // no row says that all is well
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].subject == "node-0 → node-2");
    CHECK(rows[0].text == "connections to a rendezvous port are silently dropped");
    CHECK(rows[0].hint.find("firewall") != std::string::npos);
}

TEST_CASE("of many nodes some ways were tried: how many, and whom nobody that tried reaches") {
    std::vector<PathAnswer> paths;
    for (std::size_t from = 0; from < 6; ++from) {
        for (const auto step : {1U, 3U}) {
            paths.push_back(
                {.from = from, .to = (from + step) % 6, .outcome = LinkOutcome::open, .latency_us = 80});
        }
    }
    auto rows = judge_paths(some_nodes(6), paths);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text ==
          "rendezvous ports open both ways, large packets pass (12 of 30 pairs; `check --deep` tries all)");
    for (auto& path : paths) {
        path.outcome = path.to == 4 ? LinkOutcome::refused : LinkOutcome::open;
    }
    rows = judge_paths(some_nodes(6), paths);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].subject == "2 others → node-4");
}

TEST_CASE("a node that none reaches, or that reaches none, is one row") {
    auto rows = judge_paths(some_nodes(4), all_ways(4, [](auto, auto to) {
                                return to == 3 ? LinkOutcome::refused : LinkOutcome::open;
                            }));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].subject == "all others → node-3");
    CHECK(rows[0].text == "connections to a rendezvous port are refused");
    rows = judge_paths(some_nodes(4), all_ways(4, [](auto from, auto) {
                           return from == 1 ? LinkOutcome::unreachable : LinkOutcome::open;
                       }));
    CHECK(rows[0].subject == "node-1 → all others");
}

TEST_CASE("large packets that are lost are no closed port") {
    const auto rows = judge_paths(some_nodes(2), all_ways(2, [](auto from, auto) {
                                      return from == 0 ? LinkOutcome::large_lost : LinkOutcome::open;
                                  }));
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].check == "ports");
    CHECK(rows[0].state == State::pass);
    CHECK(rows[1].check == "path-mtu");
    CHECK(rows[1].subject == "node-0 → node-1");
    CHECK(rows[1].hint.find("MTU") != std::string::npos);
}

TEST_CASE("a way that is far slower than the others is a warning") {
    auto paths = all_ways(3, [](auto, auto) { return LinkOutcome::open; });
    paths.back().latency_us = 40'000;
    const auto rows = judge_paths(some_nodes(3), paths);
    CHECK(rows.back().state == State::warn);
    CHECK(rows.back().text == "round trip 80 µs (median), slowest 40.0 ms from node-2 → node-1");
}

TEST_CASE("what several nodes meet is told in one order, whoever told it first") {
    const auto rows = judge_paths(some_nodes(2), all_ways(2, [](auto from, auto) {
                                      return from == 0 ? LinkOutcome::unreachable : LinkOutcome::dropped;
                                  }));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text == "connections to a rendezvous port are silently dropped");
    CHECK(rows[1].text == "a rendezvous port is not reached: ");
}

TEST_CASE("a meeting with a node that was not asked about is left out, and a node's words are printable") {
    const auto nodes = some_nodes(2);
    const auto paths = paths_from(0,
                                  {{.node = "node-9", .outcome = LinkOutcome::open},
                                   {.node = "node-1", .outcome = LinkOutcome::failed, .message = "\x1b[2J"}},
                                  nodes);
    REQUIRE(paths.size() == 1);
    CHECK(paths[0].from == 0);
    CHECK(paths[0].to == 1);
    CHECK(paths[0].message.find('\x1b') == std::string::npos);
    CHECK_FALSE(paths[0].latency_us);
}

TEST_CASE("bandwidths that are alike are one row") {
    const auto rows = judge_bandwidths(some_nodes(4), all_bandwidths(4, [](auto from, auto) {
                                           return 1.1e9 + 1e6 * static_cast<double>(from);
                                       }));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text == "TCP 8.80 Gbit/s to 8.82 Gbit/s, both directions at once");
}

TEST_CASE("a slow node is named, with what it sends and receives") {
    const auto paths = all_bandwidths(4, [](auto from, auto) { return from == 2 ? 12e6 : 1.2e9; });
    const auto rows = judge_bandwidths(some_nodes(4), paths);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].subject == "node-2");
    CHECK(rows[0].text ==
          "sends 96.0 Mbit/s, receives 9.60 Gbit/s, with every other node; the others reach 9.60 Gbit/s");
    const auto slow = slow_paths(4, paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        CHECK(slow[i] == (paths[i].from == 2));
    }
}

TEST_CASE("a slow link is named in its direction, with what was sent again") {
    auto paths = all_bandwidths(5, [](auto from, auto to) { return from == 1 && to == 3 ? 0.8e9 : 1.2e9; });
    for (auto& path : paths) {
        path.sent_again = path.from == 1 && path.to == 3 ? 25 : 0;
    }
    const auto rows = judge_bandwidths(some_nodes(5), paths);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::warn); // two thirds of what is usual
    CHECK(rows[0].subject == "node-1 → node-3");
    CHECK(rows[0].text ==
          "6.40 Gbit/s, 2.5 % of its segments retransmitted; other links of both nodes reach 9.60 Gbit/s");
}

TEST_CASE("of two nodes only the directions compare") {
    const auto even = all_bandwidths(2, [](auto, auto) { return 1e9; });
    CHECK(judge_bandwidths(some_nodes(2), even)[0].state == State::pass);
    const auto odd = all_bandwidths(2, [](auto from, auto) { return from == 0 ? 1e8 : 1e9; });
    const auto rows = judge_bandwidths(some_nodes(2), odd);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].subject == "node-0 → node-1");
    CHECK(rows[0].text == "800 Mbit/s, and 8.00 Gbit/s the other way");
}

TEST_CASE("a way that could not be measured is said, and the others are") {
    auto paths = all_bandwidths(3, [](auto, auto) { return 1e9; });
    paths[0].problem = "refused: Connection refused";
    const auto rows = judge_bandwidths(some_nodes(3), paths);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-0 → node-1");
    CHECK(rows[0].state == State::fail);
}

} // namespace link_rows_test

#include "client/check/compare.hpp"

#include <doctest/doctest.h>

namespace compare_test {

using namespace dockdist;

TEST_CASE("what most have is common, and the others are the odd ones; on a tie the first is right") {
    const auto odd = find_odd({{"a", "1"}, {"b", "2"}, {"c", "2"}, {"d", "3"}});
    CHECK(odd.common == "2");
    CHECK(odd.with_common == std::vector<std::string>{"b", "c"});
    REQUIRE(odd.others.size() == 2);
    CHECK(odd.others[0] == std::pair(std::string("1"), std::vector<std::string>{"a"}));
    CHECK(odd.others[1] == std::pair(std::string("3"), std::vector<std::string>{"d"}));
    CHECK(find_odd({{"a", "1"}, {"b", "2"}}).common == "1");
    CHECK(find_odd({}).with_common.empty());

    const auto rows =
        odd_rows(odd, {.state = CheckRow::State::warn, .check = "driver", .hint = "same"}, "driver ");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].subject == "a");
    CHECK(rows[0].text == "driver 1, and b, c have 2");
    CHECK(rows[0].hint == "same");
    CHECK(odd_rows(find_odd({{"a", "1"}, {"b", ""}}), {})[0].text == "none, and a has 1");
}

TEST_CASE("equal rows become one, whose subject says whether it is all") {
    const std::vector<std::string> hosts{"h", "i"};
    const std::vector<std::string> nodes{"a", "b", "c"};
    const auto row = [](CheckLayer layer, const char* subject, const char* text) {
        return CheckRow{.layer = layer, .subject = subject, .check = "x", .text = text};
    };
    const auto merged = merge_rows({row(CheckLayer::host, "a", "well"), row(CheckLayer::engine, "h", "well"),
                                    row(CheckLayer::host, "b", "ill"), row(CheckLayer::host, "c", "well"),
                                    row(CheckLayer::engine, "i", "well")},
                                   hosts, nodes);
    REQUIRE(merged.size() == 3);
    CHECK(merged[0].subject == "a, c");
    CHECK(merged[1].subject == "all hosts");
    CHECK(merged[2].subject == "b");
    CHECK(merge_rows({row(CheckLayer::host, "a", "w"), row(CheckLayer::host, "b", "w"),
                      row(CheckLayer::host, "c", "w")},
                     hosts, nodes)[0]
              .subject == "all nodes");
    CHECK(merge_rows({row(CheckLayer::host, "a", "w")}, {"a"}, {"a"})[0].subject == "a"); // one is not "all"
}

} // namespace compare_test

#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <chrono>

namespace history_test {

using namespace dockdist;
using namespace dockdist::test;

TEST_CASE("what nodes keep of jobs has its bounds, and output never outlives its record") {
    const auto history = [](const std::string& text) {
        return load_good("image: a\nhosts: [ssh://h]\nhistory: " + text + "\n").history;
    };
    const std::chrono::days day{1};
    CHECK(history("{}") ==
          HistorySpec{.keep = {20ULL << 30U}, .records_for = 90 * day, .logs_for = 30 * day});
    CHECK(history("{keep: 1t, for: 1h, logs_for: 30m}") == HistorySpec{.keep = {1ULL << 40U},
                                                                       .records_for = std::chrono::hours(1),
                                                                       .logs_for = std::chrono::minutes(30)});
    CHECK(history("{for: 7d}").logs_for == 7 * day);
}

} // namespace history_test

#include "shared/core/units.hpp"

#include <doctest/doctest.h>

namespace units_test {

using namespace dockdist;
using namespace std::chrono_literals;

TEST_CASE("parse_size reads sizes as Docker does") {
    CHECK(parse_size("4096") == Bytes{4096});
    CHECK(parse_size("64k") == Bytes{65536});
    CHECK(parse_size("64g") == Bytes{64ULL << 30U});
    CHECK(parse_size("512MiB") == Bytes{512ULL << 20U});
    CHECK(parse_size("1.5 GB") == Bytes{3ULL << 29U});
    CHECK_FALSE(parse_size("").has_value());
    CHECK_FALSE(parse_size("-1").has_value());
    CHECK_FALSE(parse_size("12x").has_value());
    CHECK_FALSE(parse_size("9999999999g").has_value());
}

TEST_CASE("parse_duration reads units, sums them, and takes a bare number as seconds") {
    CHECK(parse_duration("30") == 30s);
    CHECK(parse_duration("250ms") == 250ms);
    CHECK(parse_duration("1h30m") == 90min);
    CHECK(parse_duration("0.5s") == 500ms);
    CHECK_FALSE(parse_duration("").has_value());
    CHECK_FALSE(parse_duration("5x").has_value());
    CHECK_FALSE(parse_duration("1h30").has_value());
    CHECK_FALSE(parse_duration("-5s").has_value());
}

TEST_CASE("sizes and durations print briefly") {
    CHECK(format_size(Bytes{512}) == "512 B");
    CHECK(format_size(Bytes{3ULL << 29U}) == "1.5 GiB");
    CHECK(format_duration(420ms) == "0.42 s");
    CHECK(format_duration(12s) == "12 s");
    CHECK(format_duration(200s) == "3 min 20 s");
    CHECK(format_duration(3720s) == "1 h 2 min");
    CHECK(format_age(59s) == "59 s");
    CHECK(format_age(3599s) == "59 min");
    CHECK(format_age(47h + 59min) == "47 h");
    CHECK(format_age(48h) == "2 days");
    CHECK(format_exact_duration(7200s) == "2 h");
    CHECK(format_exact_duration(600s) == "10 min");
    CHECK(format_exact_duration(90s) == "90 s");
    CHECK(format_exact_duration(1500ms) == "1500 ms");
}

TEST_CASE("a default's text is read back as what it was made of") {
    CHECK(flag_duration(30s) == "30s");
    CHECK(flag_duration(1500ms) == "1500ms");
    CHECK(flag_duration(2h) == "2h");
    CHECK(flag_duration(0s) == "0s");
    CHECK(parse_duration(flag_duration(90s)) == 90s);
    CHECK(parse_duration(flag_duration(250ms)) == 250ms);
}

} // namespace units_test

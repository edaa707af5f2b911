#include "shared/core/timestamp.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

namespace timestamp_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

std::chrono::milliseconds since_epoch(std::string_view text) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(parse_timestamp(text)->time_since_epoch());
}

} // namespace

TEST_CASE("timestamps with fractions and offsets are the same point in time") {
    CHECK(since_epoch("2026-11-21T11:02:03Z") == 1795258923000ms);
    CHECK(since_epoch("2026-11-21T11:02:03.5Z") == 1795258923500ms);
    CHECK(since_epoch("2026-11-21T11:02:03.123456789Z") == 1795258923123ms);
    CHECK(since_epoch("2026-11-21T13:02:03.000000001+02:00") == 1795258923000ms);
    CHECK(since_epoch("2026-11-21T05:32:03-05:30") == 1795258923000ms);
}

TEST_CASE("what is no timestamp is nothing") {
    for (const auto* text : {"",
                             "now",
                             "2026-11-21",
                             "2026-11-21T11:02",
                             "2026-11-21T11:02:03",
                             "2026-11-21 11:02:03Z",
                             "2026-11-21T11:02:03+2",
                             "2026-11-21T11:02:03+02:00x",
                             "2026-1-21T11:02:03Z",
                             "9999-12-31T23:59:59Z",
                             "0001-01-01T00:00:00Z",
                             "9999-99-99",
                             "2026-13-01T00:00:00Z",
                             "2026-00-01T00:00:00Z",
                             "2026-02-29T00:00:00Z",
                             "2026-04-31T00:00:00Z",
                             "2026-01-00T00:00:00Z",
                             "2026-01-01T24:00:00Z",
                             "2026-01-01T00:60:00Z",
                             "2026-01-01T00:00:61Z",
                             "2026-01-01T00:00:00+24:00",
                             "2026-01--1T00:00:00Z"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_timestamp(text).has_value());
    }
}

TEST_CASE("a day begins at this machine's midnight") {
    const auto at = [](const char* zone, const char* text) {
        ::setenv("TZ", zone, 1);
        ::tzset();
        const auto day = parse_day(text);
        ::setenv("TZ", "UTC", 1);
        ::tzset();
        return day;
    };
    CHECK(at("UTC", "2026-11-01") == parse_timestamp("2026-11-01T00:00:00Z"));
    CHECK(at("CET-1CEST", "2026-07-01") == parse_timestamp("2026-07-01T00:00:00+02:00"));
    CHECK(at("CET-1CEST", "2028-02-29") == parse_timestamp("2028-02-29T00:00:00+01:00"));
    for (const auto* text :
         {"", "2026", "2026-11", "2026-11-1", "2026-11-00", "2026-11-31", "2026-13-01", "2026-00-01",
          "2026-02-29", "2026-11-01x", "2026-11-01 ", "2026-11--1", "9999-12-31", "0001-01-01"}) {
        CAPTURE(text);
        CHECK_FALSE(at("UTC", text).has_value());
    }
}

} // namespace timestamp_test

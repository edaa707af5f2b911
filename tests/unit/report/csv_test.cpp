#include "client/report/csv.hpp"

#include <doctest/doctest.h>

namespace csv_test {

using dockdist::CsvLine;

namespace {

std::string cell(std::string_view text) {
    auto line = CsvLine().text(text).str();
    return line.substr(0, line.size() - 2);
}

} // namespace

TEST_CASE("a line of CSV is RFC 4180's") {
    CHECK(CsvLine{"job", "gpu_hours", "exit_code"}.str() == "job,gpu_hours,exit_code\r\n");
    CHECK(CsvLine().text("night").number(1.25, 4).whole(7).str() == "night,1.2500,7\r\n");
    CHECK(CsvLine().text("").number({}, 4).whole({}).text("").str() == ",,,\r\n");
    CHECK(cell("a,b") == "\"a,b\"");
    CHECK(cell("say \"hi\"") == "\"say \"\"hi\"\"\"");
    CHECK(cell("a b") == "a b");
}

TEST_CASE(
    "what others have written is no formula, whatever the spreadsheet's separator, and moves no cursor") {
    for (const auto* text : {"=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "  +1",
                             "\xef\xbc\x9d"
                             "1",
                             "\xef\xbc\x8b"
                             "1",
                             "\xef\xbc\x8d"
                             "1",
                             "\xef\xbc\xa0"
                             "x",
                             "\xe2\x80\x8b=1", "\xc2\xa0=1", "|x", "%x", "!A1", "'=1", "\"=1\""}) {
        CAPTURE(text);
        const auto written = cell(text);
        CHECK(written[written.front() == '"' ? 1 : 0] == '\'');
    }
    CHECK(cell("a;=1+1;b") == "\"a;'=1+1;b\"");
    CHECK(cell("a; \"=1") == "\"a;' \"\"=1\"");
    CHECK(cell("a;b") == "\"a;b\"");
    CHECK(cell("a\r\n=1") == "a\\x0d\\x0a=1");
    CHECK(cell("\x1b[2J\xff") == "'\\x1b[2J\\xff");
    for (const auto* text :
         {"night", "ada@desk", "/bin/sh -c x", "python train.py --lr=0.1", "2026", "_x", "./x"}) {
        CHECK(cell(text) == text);
    }
}

} // namespace csv_test

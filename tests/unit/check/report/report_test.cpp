#include "client/check/report/page_parts.hpp"
#include "client/check/report/report_page.hpp"
#include "client/check/report/report_text.hpp"
#include "fakes/check_report.hpp"
#include "golden.hpp"

#include <nlohmann/json.hpp>

namespace report_test {

using namespace dockdist;

namespace {

std::string page_of(const CheckReport& report) {
    return report_page(
        report, {.cluster = "vision", .time = "2026-11-21 19:40 UTC", .version = "0.1.0", .deep = true});
}

std::size_t count(const std::string& text, std::string_view piece) {
    std::size_t found = 0;
    for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
        ++found;
    }
    return found;
}

} // namespace

TEST_CASE("a deep check as the terminal shows it") {
    check_golden("check/deep.txt", report_text(deep_report()));
}

TEST_CASE("a deep check on terminals of other widths") {
    std::string text;
    for (const std::size_t columns : {120U, 80U, 40U}) {
        text += "--- " + std::to_string(columns) + "\n" +
                report_text(deep_report(), 100, {.unicode = true, .columns = columns});
    }
    text += "--- 80, ASCII\n" + report_text(deep_report(), 100, {.columns = 80});
    check_golden("check/deep_widths.txt", text);
}

TEST_CASE("the matrices of many nodes are left to the page, and a copy is called one") {
    const auto text = report_text(wide_report(13));
    CHECK(text.find("TCP bandwidth of 13 nodes: see --report FILE.html or -o json") != std::string::npos);
    CHECK(text.find("FROM") == std::string::npos);
    CHECK(report_text(single_report()).find("all_reduce  float  1 MiB  copy\n") != std::string::npos);
}

TEST_CASE("the verdict counts what failed, else what passed, and what warns") {
    CheckReport report;
    CHECK(verdict(report) == "0 checks passed");
    report.rows = {{}};
    CHECK(verdict(report) == "1 check passed");
    CHECK(verdict(deep_report()) == "1 of 6 checks failed, 2 warnings");
}

TEST_CASE("for programs: every figure, with null where nothing was measured") {
    auto report = deep_report();
    report.links[0].bandwidth.reset();
    const auto json = report_json(report, "vision");
    CHECK(json["passed"] == false);
    CHECK(json["rows"][2]["layer"] == "host");
    CHECK(json["rows"][2]["state"] == "fail");
    CHECK(json["links"].size() == 12);
    CHECK(json["links"][0]["bytes_per_second"].is_null());
    CHECK(json["links"][1] == nlohmann::json({{"from", "node-0"},
                                              {"to", "node-2"},
                                              {"round_trip_us", 412.0},
                                              {"bytes_per_second", 1.4e9},
                                              {"slow", true}}));
    CHECK(json["collectives"][0]["nodes"] == nlohmann::json({"node-0"}));
    CHECK(json["collectives"][0]["kind"] == "collective");
    CHECK(report_json(single_report(), "one")["collectives"][0]["kind"] == "copy");
}

TEST_CASE("what is to be done is told once for all nodes, and never in more lines than a screen has twice") {
    CheckReport report;
    for (int i = 0; i < 64; ++i) {
        const auto node = "node-" + std::to_string(i);
        report.rows.push_back({.subject = node, .check = "limits", .text = "low", .hint = "set `ulimits`"});
    }
    const auto of_all = report_text(report, 24);
    CHECK(of_all.ends_with("What to do:\nnode-[0-63] limits: set `ulimits`\n"));
    for (auto& row : report.rows) {
        row.hint = "look at " + row.subject;
    }
    CHECK(report_text(report, 24).ends_with("What to do:\nnode-[0-63] limits: look at node-0\n"));
    report.rows.resize(3);
    CHECK(
        report_text(report, 24).ends_with("node-1 limits: look at node-1\nnode-2 limits: look at node-2\n"));
}

TEST_CASE("the page holds foreign text as text, and asks for nothing from elsewhere") {
    const auto page = page_of(deep_report());
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt; &amp; \\x1b[2J") != std::string::npos);
    CHECK(page.find("http://") == std::string::npos);
    CHECK(page.find("https://") == std::string::npos);
    CHECK(page.find("url(") == std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("the page has a heat map a matrix, with slow ones framed, and a chart an operation") {
    const auto page = page_of(deep_report());
    CHECK(count(page, "<table class=\"map\">") == 3);
    CHECK(count(page, "class=\"slow\"") == 12);
    CHECK(count(page, "<svg ") == 2);
    CHECK(count(page, "class=\"curve pairs\"") == 1);
    CHECK(count(page, "class=\"curve all bf16\"") == 2);
    CHECK(count(page, "class=\"band\"") == 4);
    const auto quick = page_of(wide_report(2));
    CHECK(count(quick, "<svg ") == 0);
    CHECK(quick.find("What to do") == std::string::npos);
    CHECK(count(page_of(wide_report(40)), "class=\"map many\"") == 2);
}

TEST_CASE(
    "the lighter a cell, the slower: the best one has the deepest shade, in a matrix of round trips too") {
    CheckReport report;
    report.nodes = {NodeName("a"), NodeName("b")};
    report.links = {{.from = 0, .to = 1, .latency_us = 10}, {.from = 1, .to = 0, .latency_us = 1000}};
    const auto map = page_matrix(latency_matrix(report));
    CHECK(map.find("background:#084594;color:#fff\" title=\"a → b: 10.0 µs\"") != std::string::npos);
    CHECK(map.find("color:#10161c\" title=\"b → a: 1000 µs\"") != std::string::npos);
}

TEST_CASE("a chart of one size, or of figures that are all zero, is still a chart") {
    const auto curves = page_curves(single_report());
    CHECK(count(curves, "<svg ") == 1);
    CHECK(curves.find("nan") == std::string::npos);
    CHECK(curves.find("inf") == std::string::npos);
    CHECK(curves.find("a copy in its memory, no network") != std::string::npos);
}

TEST_CASE("sizes are named in whole units where they are some") {
    CHECK(short_size(1024) == "1 KiB");
    CHECK(short_size(8ULL << 30U) == "8 GiB");
    CHECK(short_size(1) == "1 B");
    CHECK(short_size(1000) == "1000 B");
    CHECK(short_size(1536 * 1024) == "1.5 MiB");
}

} // namespace report_test

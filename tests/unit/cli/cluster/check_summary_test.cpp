#include "client/cli/cluster/check_summary.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace check_summary_test {

using namespace dockdist;
using State = CheckRow::State;

namespace {

CheckReport report_of(std::vector<State> states) {
    CheckReport report;
    for (const auto state : states) {
        const auto number = std::to_string(report.rows.size());
        report.rows.push_back({.state = state,
                               .subject = "node-" + number,
                               .check = "clock",
                               .text = "text " + number,
                               .hint = "hint " + number});
    }
    return report;
}

std::vector<std::string> texts(const std::vector<Event>& events) {
    std::vector<std::string> all;
    for (const auto& event : events) {
        all.push_back(event.subject + ": " + event.text);
    }
    return all;
}

} // namespace

TEST_CASE("a check in a few words") {
    CHECK(check_summary(report_of({})) == "0 passed");
    CHECK(check_summary(report_of({State::pass, State::pass})) == "2 passed");
    CHECK(check_summary(report_of({State::pass, State::warn})) == "1 passed, 1 warning");
    CHECK(check_summary(report_of({State::warn, State::warn, State::fail})) ==
          "0 passed, 2 warnings, 1 failed");
}

TEST_CASE("what does not pass is remarked, but for what was told already") {
    CHECK(texts(check_remarks(report_of({State::pass}), {})) == std::vector<std::string>{"check: 1 passed"});
    const auto report = report_of({State::pass, State::warn, State::fail, State::warn});
    const auto remarks = check_remarks(report, {{ErrorKind::node, "node-3", "text 3", ""}});
    CHECK(texts(remarks) == std::vector<std::string>{
                                "check: 1 passed, 2 warnings, 1 failed (`dockdist check` shows all)",
                                "node-1: clock: text 1 (hint 1)", "node-2: FAILED, clock: text 2 (hint 2)"});
    CHECK(remarks[0].kind == Event::Kind::note);
    CHECK(remarks[1].kind == Event::Kind::warning);
}

TEST_CASE("programs are told the numbers, and the rows that do not pass") {
    const auto json = check_json(report_of({State::pass, State::warn, State::fail}));
    CHECK(json["passed"] == 1);
    CHECK(json["warnings"] == 1);
    CHECK(json["failed"] == 1);
    REQUIRE(json["rows"].size() == 2);
    CHECK(json["rows"][1] == nlohmann::json{{"state", "fail"},
                                            {"subject", "node-2"},
                                            {"check", "clock"},
                                            {"text", "text 2"},
                                            {"hint", "hint 2"}});
    CHECK(check_json(report_of({}))["rows"] == nlohmann::json::array());
}

} // namespace check_summary_test

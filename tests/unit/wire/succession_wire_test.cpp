#include "shared/wire/succession.hpp"

#include <doctest/doctest.h>

namespace succession_wire_test {

using namespace dockdist;
using namespace dockdist::wire;

namespace {

JobRecord a_record() {
    JobRecord record{.version = {3, 7}, .attempt = 2, .leaving = {0}};
    record.policy.parts = {{.node = "node-0", .lost = true}, {.node = "node-1"}, {.node = "node-2"}};
    record.policy.members = {2, 1};
    record.policy.relaunch = "{}";
    return record;
}

std::string without_end(std::string line) {
    REQUIRE(line.ends_with('\n'));
    line.pop_back();
    return line;
}

} // namespace

TEST_CASE("a link's lines come back as they were said") {
    const auto greeting = parse_link_greeting(without_end(link_greeting({.part = 2, .term = 5})), 3);
    REQUIRE(greeting.has_value());
    CHECK((greeting->part == 2 && greeting->term == 5));

    const auto ping = parse_link_ping(
        without_end(link_ping({.term = 5, .number = 9, .leads = true, .record = a_record()})), 3);
    REQUIRE(ping.has_value());
    CHECK((ping->term == 5 && ping->number == 9 && ping->leads && !ping->resigns && !ping->wants_record));
    REQUIRE(ping->record.has_value());
    CHECK(ping->record->version == JobRecord::Version{3, 7});
    CHECK(ping->record->leaving == std::vector<int>{0});
    CHECK(ping->record->policy.members == std::vector<int>{2, 1});
    CHECK(ping->record->policy.parts[0].lost);

    const auto line = without_end(link_pong({.term = 5, .number = 9, .attempt = 2, .version = {3, 7}}));
    CHECK(is_link_pong(line));
    const auto pong = parse_link_pong(line, 3);
    REQUIRE(pong.has_value());
    CHECK((pong->term == 5 && pong->number == 9 && pong->attempt == 2 && !pong->record));
    CHECK(pong->version == JobRecord::Version{3, 7});
}

TEST_CASE("a ping is a ping for those who know no terms") {
    const auto command = parse_job_command(without_end(link_ping({.term = 5, .number = 9})));
    REQUIRE(command.has_value());
    CHECK(command->type == JobCommand::Type::ping);
    CHECK_FALSE(parse_link_ping(R"({"type":"ping"})", 3).has_value()); // of a client, it bears no term
    CHECK_FALSE(is_link_pong(job_event({.type = JobEvent::Type::started})));
}

TEST_CASE("parts, terms and records that cannot be are refused") {
    for (const auto* line : {R"({"part":3,"term":0})", R"({"part":-1,"term":0})", R"({"term":0})",
                             R"({"part":1,"term":-1})", R"({"part":1,"term":1e300})", "1"}) {
        CAPTURE(line);
        CHECK_FALSE(parse_link_greeting(line, 3).has_value());
    }
    const auto with_record = without_end(link_ping({.term = 1, .record = a_record()}));
    CHECK(parse_link_ping(with_record, 3).has_value());
    CHECK_FALSE(parse_link_ping(with_record, 2).has_value()); // of another job
    auto leaving = a_record();
    leaving.leaving = {3};
    CHECK_FALSE(parse_link_ping(without_end(link_ping({.term = 1, .record = leaving})), 3).has_value());
    for (const auto* line :
         {R"({"type":"pong","term":1,"version":[1]})", R"({"type":"pong","term":1,"version":[-1,0]})",
          R"({"type":"pong","term":1,"attempt":-1})", R"({"type":"pong"})"}) {
        CAPTURE(line);
        CHECK_FALSE(parse_link_pong(line, 3).has_value());
    }
}

} // namespace succession_wire_test

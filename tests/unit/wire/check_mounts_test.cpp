#include "shared/wire/check.hpp"
#include "shared/wire/check_mounts.hpp"

#include <doctest/doctest.h>

namespace check_mounts_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

TEST_CASE("the question who left a token survives the way") {
    const LookForTokens look{.mounts = {"/data"}, .token = "1a2b", .nodes = {"node-0", "node-1"}};
    const auto asked = parse_question(question_line(look));
    REQUIRE(asked.has_value());
    CHECK(asked->ask == "look");
    CHECK(json(*read_question<LookForTokens>(*asked)) == json(look));
}

TEST_CASE("names from which no path may be made are refused") {
    const auto refusal = [](json question) {
        const auto read = read_question<LookForTokens>({.ask = "look", .body = std::move(question)});
        return read ? "" : read.error().message;
    };
    const std::string message = "the question for look: an invalid token of the check";
    CHECK(refusal({{"mounts", {"/data"}}, {"token", "a1"}, {"nodes", {"../../etc"}}}) == message);
    for (const auto& token : {std::string(), std::string("../x"), std::string("a/b"), std::string(65, 'a')}) {
        CHECK(refusal({{"mounts", {"/data"}}, {"token", token}, {"nodes", {"node-0"}}}) == message);
    }
    CHECK(refusal({{"mounts", 1}, {"token", "a1"}}) == "the question for look: \"mounts\" must be an array");
}

TEST_CASE("a folder that could not be looked into is an error of its own") {
    LookForTokens::Answer answer;
    answer.seen.insert_or_assign("/data", std::vector<std::string>{"node-0", "node-2"});
    answer.seen.insert_or_assign("/slow", Error{ErrorKind::timeout, "", "no end within 10 s", ""});
    const auto parsed = parse_answer<LookForTokens>(answer_line<LookForTokens>(answer));
    REQUIRE(parsed.has_value());
    CHECK(*parsed->seen.at("/data") == std::vector<std::string>{"node-0", "node-2"});
    CHECK(parsed->seen.at("/slow").error().kind == ErrorKind::timeout);
    CHECK(parsed->seen.at("/slow").error().message == "no end within 10 s");
    const auto damaged =
        parse_answer<LookForTokens>(R"({"answer":"look","seen":{"/data":["node-0",7],"/x":1,"/y":[]}})");
    REQUIRE(damaged.has_value());
    CHECK(damaged->seen.at("/data").error().kind == ErrorKind::protocol);
    CHECK(damaged->seen.at("/x").has_error());
    CHECK(damaged->seen.at("/y")->empty());
    CHECK_FALSE(parse_answer<LookForTokens>(R"({"answer":"look","seen":1})").has_value());
    CHECK_FALSE(parse_answer<LookForTokens>(R"({"answer":"look"})").has_value());
}

TEST_CASE("what is told of a mount depends on what is there") {
    CHECK(json(MountFacts{}) == json{{"folder", false}});
    CHECK(json(MountFacts{.folder = true, .written = true}) == json{{"folder", true}, {"written", true}});
    CHECK(json(MountFacts{.folder = true, .why = "Permission denied", .listing = "3 9"}) ==
          json{{"folder", true}, {"written", false}, {"why", "Permission denied"}, {"listing", "3 9"}});
    CHECK(json(MountFacts{.folder = true, .listing = "3 9", .source = "server:/a /"})["source"] ==
          "server:/a /");
    CHECK(parse_answer<ForgetTokens>(answer_line<ForgetTokens>(ForgetTokens::Answer{})).has_value());
}

} // namespace check_mounts_test

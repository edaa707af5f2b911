#include "shared/wire/check.hpp"
#include "shared/wire/check_links.hpp"

#include <doctest/doctest.h>

namespace check_links_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

namespace {

const std::string token(link_token_size, 'a');

// After the way to the node.
template <class Question>
Result<Question> sent(const Question& question) {
    const auto asked = parse_question(question_line(question));
    REQUIRE(asked.has_value());
    CHECK(asked->ask == Question::ask);
    return read_question<Question>(*asked);
}

template <class Question>
std::string refusal(json question) {
    const auto read = read_question<Question>({.ask = Question::ask, .body = std::move(question)});
    REQUIRE(read.has_error());
    CHECK(read.error().kind == ErrorKind::protocol);
    return read.error().message;
}

std::string refused_links(const char* line) {
    const auto answer = parse_answer<LinksMeet>(line);
    REQUIRE(answer.has_error());
    CHECK(answer.error().kind == ErrorKind::protocol);
    return answer.error().message;
}

} // namespace

TEST_CASE("questions about links survive the way") {
    const LinkPeer peer{.node = "node-1", .address = "10.0.0.2", .port = 20001};
    CHECK(sent(LinksListen{.token = token})->token == token);
    const auto meet = sent(LinksMeet{.token = token, .peers = {peer, peer}});
    REQUIRE(meet.has_value());
    REQUIRE(meet->peers.size() == 2);
    CHECK(json(meet->peers[1]) == json{{"node", "node-1"}, {"address", "10.0.0.2"}, {"port", 20001}});
    const LinksSend send{.token = token, .peer = peer, .streams = 4, .ms = 100};
    CHECK(json(*sent(send)) == json{{"token", token},
                                    {"node", "node-1"},
                                    {"address", "10.0.0.2"},
                                    {"port", 20001},
                                    {"streams", 4},
                                    {"ms", 100}});
    CHECK(json(*sent(send)) == json(send));
}

TEST_CASE("answers about links survive the way, with every outcome") {
    LinksMeet::Answer met;
    for (const auto outcome :
         {LinkOutcome::open, LinkOutcome::refused, LinkOutcome::dropped, LinkOutcome::unreachable,
          LinkOutcome::silent, LinkOutcome::large_lost, LinkOutcome::failed}) {
        met.links.push_back({.node = "node-1", .outcome = outcome, .message = "why"});
    }
    met.links[0].latency_us = 81.5;
    const auto parsed = parse_answer<LinksMeet>(answer_line<LinksMeet>(met));
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->links.size() == met.links.size());
    for (std::size_t i = 0; i < met.links.size(); ++i) {
        CHECK(parsed->links[i].outcome == met.links[i].outcome);
        CHECK(parsed->links[i].message == "why");
        CHECK(parsed->links[i].latency_us == met.links[i].latency_us);
    }
    CHECK(json(met)["links"][5]["outcome"] == "large_lost");
    const auto sent = parse_answer<LinksSend>(answer_line<LinksSend>(
        LinksSend::Answer{.bytes_per_second = 1.5e9, .segments = 1ULL << 40U, .sent_again = 3}));
    REQUIRE(sent.has_value());
    CHECK(sent->bytes_per_second == 1.5e9);
    CHECK(sent->segments == 1ULL << 40U);
    CHECK(sent->sent_again == 3);
    CHECK(parse_answer<LinksListen>(R"({"answer":"links-listen","port":20000})")->port == 20000);
}

TEST_CASE("questions about links of another shape are refused") {
    CHECK(refusal<LinksListen>(json::object()) == "the question for links-listen: \"token\" is missing");
    CHECK(refusal<LinksListen>({{"token", "short"}}) ==
          "the question for links-listen: a token has 32 characters");
    CHECK(refusal<LinksMeet>({{"token", token}}) == "the question for links-meet: \"peers\" is missing");
    CHECK(refusal<LinksMeet>({{"token", token}, {"peers", {3}}}) ==
          "the question for links-meet: \"peers\" must be an array of objects");
    CHECK(refusal<LinksMeet>({{"token", token}, {"peers", {{{"address", "127.0.0.1"}, {"port", 0}}}}}) ==
          "the question for links-meet: peers: a port is from 1 to 65535");
    const json send{{"token", token}, {"address", "a"}, {"port", 1}};
    const auto with = [&send](const char* key, const json& value) {
        auto question = send;
        question[key] = value;
        return question;
    };
    for (const auto& question : {with("streams", 99), with("streams", 0), with("ms", 0), with("ms", 60001)}) {
        CHECK(refusal<LinksSend>(question) ==
              "the question for links-send: streams are 1 to 16, ms 10 to 60000");
    }
    CHECK(refusal<LinksSend>(with("port", 65536)) ==
          "the question for links-send: a port is from 1 to 65535");
}

TEST_CASE("answers about links of another shape are refused") {
    const auto begin = std::string("the answer to links-meet: ");
    CHECK(refused_links(R"({"answer":"links-meet"})") == begin + "\"links\" is missing");
    CHECK(refused_links(R"({"answer":"links-meet","links":3})") == begin + "\"links\" must be an array");
    CHECK(refused_links(R"({"answer":"links-meet","links":[null]})") ==
          begin + "\"links\" must be an array of objects");
    CHECK(refused_links(R"({"answer":"links-meet","links":[{"outcome":"open"}]})") ==
          begin + "links: \"node\" is missing");
    CHECK(refused_links(R"({"answer":"links-meet","links":[{"node":"n","outcome":"re\u001b[2Jfused"}]})")
              .find('\x1b') == std::string::npos);
    CHECK(refused_links(R"({"answer":"links-meet","links":[{"node":"n"}]})") ==
          begin + "links: \"outcome\" is missing");
    CHECK(refused_links(
              R"({"answer":"links-meet","links":[{"node":"n","outcome":"open","latency_us":"1"}]})") ==
          begin + "links: \"latency_us\" must be a number");
    CHECK(refused_links(R"({"answer":"links-listen","port":1})") ==
          "the node answered `links-listen` to `links-meet`");
    CHECK_FALSE(parse_answer<LinksListen>(R"({"answer":"links-listen"})").has_value());
    CHECK_FALSE(parse_answer<LinksListen>(R"({"answer":"links-listen","port":70000})").has_value());
    CHECK_FALSE(parse_answer<LinksSend>(R"({"answer":"links-send","bytes_per_second":1})").has_value());
    CHECK_FALSE(parse_answer<LinksSend>(
                    R"({"answer":"links-send","bytes_per_second":1,"segments":-1,"sent_again":0})")
                    .has_value());
}

TEST_CASE("a node's own error comes through") {
    const auto answer = parse_answer<LinksListen>(
        answer_line<LinksListen>(Error{ErrorKind::node, "", "no port is free", "look"}));
    REQUIRE(answer.has_error());
    CHECK(answer.error().kind == ErrorKind::node);
    CHECK(answer.error().message == "no port is free");
    CHECK(answer.error().hint == "look");
}

} // namespace check_links_test

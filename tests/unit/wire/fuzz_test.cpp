// What comes from the other side may be anything: damaged lines end in an error or a value, never in a crash.
#include "fakes/check_lines.hpp"
#include "fakes/damage.hpp"
#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/probe.hpp"
#include "shared/wire/relay.hpp"
#include "shared/wire/tree.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <vector>

namespace fuzz_test {

using namespace dockdist;
using nlohmann::json;

namespace {

constexpr std::size_t rounds = 6000;
constexpr std::size_t rounds_of_a_line = 545;

// Feeds damaged lines to the parsers; how many values came of it. What is no JSON object (nine lines of ten)
// ends alike in all of them, in the same few lines of code: one of them gets it, in turn.
template <std::size_t count>
int parse_damaged(const std::vector<std::string>& lines,
                  const std::array<bool (*)(const std::string&), count>& parsers) {
    Damage damage;
    int parsed = 0;
    for (std::size_t i = 0; i < lines.size() * rounds_of_a_line; ++i) {
        const auto line = damage.apply(lines[i % lines.size()]);
        if (!wire::parse_object(line, "a line").has_value()) {
            CHECK_FALSE(parsers.at(i % count)(line));
            continue;
        }
        for (const auto parser : parsers) {
            parsed += parser(line) ? 1 : 0;
        }
    }
    return parsed;
}

} // namespace

TEST_CASE("damaged lines never break a parser") {
    const wire::NodeRecord record{.node = "node-0", .address = "10.0.0.1", .user_key = "ssh-ed25519 AAAA"};
    const wire::JobOpening opening{.job = "j",
                                   .env = {{"A", "b"}},
                                   .unset = {"C"},
                                   .questions = {{.name = "q", .argv = {"sh", "\xff"}}}};
    const wire::JobStart start{.argv = {"sh", "\xff"}, .files = {{"/f", "x"}}, .rank_command = {"x"}};
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result.failures.push_back({.rank = 1, .code = 2, .tail = "\xfe"});
    wire::JobEvent facts{.type = wire::JobEvent::Type::prepared};
    facts.facts = {.ports = {29500}, .answers = {{.name = "q", .code = 1, .output = "\xff"}}};
    const std::vector<std::string> lines{
        wire::hello_line(record),
        wire::members_list({.cluster = "c", .nodes = {record, record}}),
        wire::members_notice_line({.sha256 = "ab", .giver = record}),
        json(wire::JoinRequest{}).dump(),
        json(opening).dump(),
        json(start).dump(),
        wire::job_event(event),
        wire::job_event(facts),
        wire::job_query({.job = "j", .rank = 1, .tail = 2, .since_ms = 3}),
        wire::job_command_line({.type = wire::JobCommand::Type::stop, .grace_ms = 5})};
    const auto parsed = parse_damaged<10>(
        lines, {{[](const std::string& line) { return wire::parse_join_request(line).has_value(); },
                 [](const std::string& line) { return wire::parse_join_message(line).has_value(); },
                 [](const std::string& line) { return wire::parse_members(line).has_value(); },
                 [](const std::string& line) { return wire::parse_members_notice(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_opening(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_start(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_summary(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_query(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_event(line).has_value(); },
                 [](const std::string& line) { return wire::parse_job_command(line).has_value(); }}});
    CHECK(parsed > 0); // some damage is harmless, or the test is blind
}

TEST_CASE("damaged lines of a probe, a relay and a sync never break a parser") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    const std::vector<std::string> lines{
        wire::probe_line(3, {{"rank", 11}}),
        wire::probe_end_line(1, {.code = 137, .signal = 9, .message = "m", .hint = "h"}),
        wire::rdma_line({"mlx5_0"}),
        wire::to_line(wire::RelayOpening{.token = "t", .address = "10.0.0.1"}),
        wire::to_line(
            wire::RelayImage{.manifest = "{}", .media_type = "application/x", .blobs = {{digest, 7, 2}}}),
        wire::to_line(wire::RelayMessage{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001}),
        wire::to_line(wire::RelayPiece{digest, 5}),
        wire::to_line(wire::RelayPiece{.length = 5, .file = 3}),
        wire::to_line(wire::RelayPeers{
            .upstreams = {{.asking = 2, .key = std::string(64, 'a'), .address = "10.0.0.1 4001"}},
            .downstreams = {{.asking = 3, .key = std::string(64, 'b')}}}),
        wire::to_line(wire::RelayRequest{.digest = digest, .offset = 7}),
        wire::to_line(wire::RelayFiles{.files = {{.number = 3, .name = "a/b", .size = 7, .mode = 0640}}}),
        wire::to_line(wire::RelayDigest{3, digest}),
        wire::sync_opening({.user = "1000", .workdir = "/workspace"})};
    const auto parsed = parse_damaged<11>(
        lines, {{[](const std::string& line) { return wire::parse_question(line).has_value(); },
                 [](const std::string& line) { return wire::parse_probe_message(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_opening(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_image(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_message(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_piece(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_peers(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_request(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_files(line).has_value(); },
                 [](const std::string& line) { return wire::parse_relay_digest(line).has_value(); },
                 [](const std::string& line) { return wire::parse_sync_opening(line).has_value(); }}});
    CHECK(parsed > 0);
}

TEST_CASE("damaged questions and answers of a check never break a parser; what is parsed can be sent again") {
    const auto lines = check_lines();
    Damage damage;
    int parsed = 0;
    const auto try_one = [&parsed]<class Question>(const std::string& line, Question) {
        if (const auto asked = wire::parse_question(line)) {
            if (const auto question = wire::read_question<Question>(*asked)) {
                const auto again = wire::parse_question(wire::question_line(*question));
                REQUIRE(again.has_value());
                CHECK(wire::read_question<Question>(*again).has_value());
                ++parsed;
            }
        }
        const auto answer = wire::parse_answer<Question>(line);
        if (answer) {
            CHECK(wire::parse_answer<Question>(wire::answer_line<Question>(answer)).has_value());
            ++parsed;
        }
    };
    for (std::size_t i = 0; i < rounds; ++i) {
        const auto line = damage.apply(lines[i % lines.size()].text);
        try_one(line, wire::FactsQuestion{});
        try_one(line, wire::LookForTokens{});
        try_one(line, wire::LinksMeet{});
        try_one(line, wire::LinksSend{});
        try_one(line, wire::LinksListen{});
    }
    CHECK(parsed > 0);
}

TEST_CASE("lines that are nested deeper than a stack would bear end in an error") {
    Damage damage;
    for (const std::string begin : {"", R"({"nodes":)", R"({"argv":)"}) {
        for (const bool closed : {false, true}) {
            const auto line = begin + std::string(20000, '[') +
                              (closed ? std::string(20000, ']') + (begin.empty() ? "" : "}") : "");
            CHECK_FALSE(wire::parse_members(line).has_value());
            CHECK_FALSE(wire::parse_job_start(line).has_value());
            CHECK_FALSE(wire::parse_members(damage.apply(line)).has_value());
        }
    }
}

TEST_CASE("what is parsed from damaged lines can be sent again") {
    Damage damage;
    const auto opening = json(wire::JobOpening{.job = "j", .env = {{"x", "\xff"}}}).dump();
    const auto start = json(wire::JobStart{.argv = {"x", "\xff"}}).dump();
    for (std::size_t i = 0; i < rounds / 10; ++i) {
        if (const auto parsed = wire::parse_job_opening(damage.apply(opening))) {
            CHECK(wire::parse_job_opening(json(*parsed).dump()).has_value());
        }
        if (const auto parsed = wire::parse_job_start(damage.apply(start))) {
            CHECK(wire::parse_job_start(json(*parsed).dump()).has_value());
        }
    }
}

TEST_CASE("a damaged stream of frames ends in an error or in frames within the limit") {
    std::string stream;
    for (int i = 0; i < 5; ++i) {
        stream += wire::encode({.kind = wire::Frame::Kind::output, .stream = 1, .payload = "some output\n"});
    }
    Damage damage;
    for (std::size_t i = 0; i < rounds; ++i) {
        wire::FrameDecoder decoder;
        decoder.feed(damage.apply(stream));
        auto frame = decoder.next();
        while (frame && *frame) {
            REQUIRE((*frame)->payload.size() <= wire::max_payload);
            frame = decoder.next();
        }
    }
}

} // namespace fuzz_test

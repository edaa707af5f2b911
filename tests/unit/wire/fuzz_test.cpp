// What comes from the other side may be anything: damaged lines end in an error or a value, never in a crash.
#include "wire/frame.hpp"
#include "wire/job.hpp"
#include "wire/job_query.hpp"
#include "wire/join.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <random>

using namespace dockdist;
using nlohmann::json;

namespace {

class Damage {
public:
    std::string apply(std::string text) {
        for (auto times = 1 + pick(4); times > 0; --times) {
            if (text.empty()) {
                text += byte();
            }
            const auto at = pick(text.size());
            switch (pick(5)) {
            case 0:
                text[at] = byte();
                break;
            case 1:
                text.erase(at, 1 + pick(8));
                break;
            case 2:
                text.insert(at, 1, byte());
                break;
            case 3:
                text.insert(at, text.substr(pick(text.size()), pick(16)));
                break;
            default:
                text.resize(at);
            }
        }
        return text;
    }

private:
    std::size_t pick(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
    }
    char byte() { return static_cast<char>(pick(256)); }
    std::mt19937 random_{20240229}; // the same run every time
};

constexpr int rounds = 6000;

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
        wire::members_line({.cluster = "c", .nodes = {record, record}}),
        json(wire::JoinRequest{}).dump(),
        json(opening).dump(),
        json(start).dump(),
        wire::job_event(event),
        wire::job_event(facts),
        wire::job_query({.job = "j", .rank = 1, .tail = 2, .since_ms = 3}),
        wire::job_command_line({.type = wire::JobCommand::Type::stop, .grace_ms = 5}),
        std::string(2000, '['),
        R"({"nodes":)" + std::string(2000, '[')};
    Damage damage;
    int parsed = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto line = damage.apply(lines[static_cast<std::size_t>(i) % lines.size()]);
        parsed += wire::parse_join_request(line).has_value() ? 1 : 0;
        parsed += wire::parse_join_message(line).has_value() ? 1 : 0;
        parsed += wire::parse_members(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_opening(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_start(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_summary(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_query(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_event(line).has_value() ? 1 : 0;
        parsed += wire::parse_job_command(line).has_value() ? 1 : 0;
    }
    CHECK(parsed > 0); // some damage is harmless, or the test is blind
}

TEST_CASE("what is parsed from damaged lines can be sent again") {
    Damage damage;
    const auto opening = json(wire::JobOpening{.job = "j", .env = {{"x", "\xff"}}}).dump();
    const auto start = json(wire::JobStart{.argv = {"x", "\xff"}}).dump();
    for (int i = 0; i < rounds / 10; ++i) {
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
    for (int i = 0; i < rounds; ++i) {
        wire::FrameDecoder decoder;
        decoder.feed(damage.apply(stream));
        auto frame = decoder.next();
        while (frame && *frame) {
            REQUIRE((*frame)->payload.size() <= wire::max_payload);
            frame = decoder.next();
        }
    }
}

#include "shared/gpu/board.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>

namespace board_test {

using namespace dockdist;
using Names = std::vector<std::string>;

namespace {

std::vector<wire::GpuUnit> units(const Names& ids) {
    std::vector<wire::GpuUnit> all;
    for (const auto& id : ids) {
        all.push_back({.id = id, .index = static_cast<int>(all.size()), .name = "Model"});
    }
    return all;
}

BoardEntry holder(std::uint64_t id, const std::string& job, const Names& held) {
    return {.id = id, .who = {.cluster = "c", .node = "n", .job = job}, .units = units(held)};
}

BoardEntry ticket(std::uint64_t id, const std::string& job, int wanted, const Names& candidates,
                  std::int64_t number, int priority = 0) {
    return {.id = id,
            .who = {.cluster = "c", .node = "n", .job = job},
            .wanted = wanted,
            .candidates = candidates,
            .priority = priority,
            .number = number,
            .is_final = true};
}

Board board(std::vector<BoardEntry> entries) {
    return {.last_number = 99, .last_id = 99, .entries = std::move(entries)};
}

Names jobs(const std::vector<const BoardEntry*>& entries) {
    Names names;
    for (const auto* entry : entries) {
        names.push_back(entry->who.job);
    }
    return names;
}

const Names four{"g0", "g1", "g2", "g3"};

} // namespace

TEST_CASE("a board that is written is read as it was, but for the ages") {
    auto waiting = ticket(7, "waits", 2, {"g0", "g\xff"}, 12, -3);
    waiting.since_ms = 123;
    waiting.is_final = false;
    auto held = holder(3, "holds", {"g0", "g1"});
    held.who.owner = "somebody@machine";
    held.until_ms = 9000;
    CHECK(party_of(held, 5000).left_s == 4);
    CHECK(party_of(waiting, 5000).left_s == 0);
    const auto there = board({held, waiting});
    auto aged = there;
    aged.entries[0].who.age_s = 17;
    const auto read = parse_board(board_text(aged));
    REQUIRE(read.has_value());
    CHECK(*read == there);
}

TEST_CASE(
    "a board says its format, those of before had none, and another one is told from what is no board") {
    CHECK(board_text({}).find("\"format\":1") != std::string::npos);
    CHECK(parse_board(R"({"entries":[]})").has_value());
    const auto newer = parse_board(R"({"format":2,"entries":{}})");
    REQUIRE(!newer);
    CHECK(newer.error().kind == ErrorKind::conflict);
    CHECK(newer.error().message == "it has format 2, and this node knows format 1");
    CHECK(parse_board(R"({"format":"x","entries":[]})").error().kind == ErrorKind::protocol);
}

TEST_CASE("what no board says is refused") {
    const auto refused = [](const std::string& text) {
        const auto read = parse_board(text);
        return !read && read.error().kind == ErrorKind::protocol;
    };
    CHECK(refused(""));
    CHECK(refused("[]"));
    CHECK(refused("{}"));
    CHECK(refused(R"({"entries":7})"));
    CHECK(refused(R"({"entries":[7]})"));
    CHECK(refused(R"({"entries":[{"wanted":1}]})"));                          // no id
    CHECK(refused(R"({"entries":[{"id":0,"wanted":1}]})"));                   // the mutex's byte
    CHECK(refused(R"({"entries":[{"id":9223372036854775807,"wanted":1}]})")); // no byte of a file
    CHECK(refused(R"({"entries":[{"id":1}]})"));                              // neither holds nor waits
    CHECK(refused(R"({"entries":[{"id":1,"wanted":-1}]})"));
    CHECK(refused(R"({"entries":[{"id":1,"wanted":1},{"id":1,"wanted":1}]})"));
    CHECK(refused(R"({"last_number":9223372036854775807,"entries":[]})")); // no number would be after it
    CHECK(refused(board_text(board({holder(1, std::string(max_board_size, 'x'), {"g0"})}))));
    std::vector<BoardEntry> many;
    for (std::size_t i = 0; i <= max_board_entries; ++i) {
        many.push_back(ticket(i + 1, "", 1, {}, 1));
    }
    CHECK(refused(board_text(board(many))));
    CHECK_FALSE(refused(R"({"entries":[{"id":1,"wanted":1,"more":{}}]})"));
}

TEST_CASE("priority comes before the number, and names decide what is left") {
    const auto first = ticket(1, "a", 1, four, 5);
    CHECK(goes_before(first, ticket(2, "a", 1, four, 6)));
    CHECK(goes_before(ticket(2, "z", 1, four, 6, 1), first));
    CHECK(goes_before(first, ticket(2, "b", 1, four, 5)));
    CHECK_FALSE(goes_before(first, first));
    auto elsewhere = first;
    elsewhere.who.node = "o";
    CHECK(goes_before(first, elsewhere));
    CHECK_FALSE(goes_before(elsewhere, first));
    auto another = first;
    another.who.cluster = "d";
    CHECK(goes_before(first, another));
}

TEST_CASE("an empty board gives all") {
    const auto verdict = decide({}, ticket(0, "new", 2, four, 0));
    CHECK(verdict.fits);
    CHECK(verdict.free == four);
    CHECK(verdict.place == 1);
}

TEST_CASE("what is held is not free, and whoever holds it is told") {
    const auto there = board({holder(1, "old", {"g0", "g9"}), holder(2, "other", {"g8"})});
    const auto verdict = decide(there, ticket(0, "new", 3, four, 0));
    CHECK(verdict.fits);
    CHECK(verdict.free == Names{"g1", "g2", "g3"});
    CHECK(jobs(verdict.holders) == Names{"old"});
    CHECK_FALSE(decide(there, ticket(0, "new", 4, four, 0)).fits);
}

TEST_CASE("one that comes stands behind all, whatever its priority is") {
    const auto there = board({holder(1, "old", {"g0", "g1", "g2"}), ticket(2, "large", 2, four, 1)});
    const auto verdict = decide(there, ticket(0, "new", 1, four, 0, 100));
    CHECK_FALSE(verdict.fits);
    CHECK(verdict.place == 2);
    CHECK(jobs(verdict.ahead) == Names{"large"});
}

TEST_CASE("what the first one does not need goes to the next") {
    const auto own = ticket(3, "small", 1, four, 2);
    const auto there = board({holder(1, "old", {"g0"}), own, ticket(2, "large", 2, four, 1)});
    const auto verdict = decide(there, own);
    CHECK(verdict.fits);
    CHECK(verdict.free == Names{"g3"});
    CHECK(verdict.place == 2);
}

TEST_CASE("the first one is left what it would do with, as long as it lacks some of it") {
    const auto own = ticket(3, "small", 1, four, 2);
    const auto there = board({holder(1, "old", {"g0"}), own, ticket(2, "large", 4, four, 1)});
    CHECK_FALSE(decide(there, own).fits);
}

TEST_CASE("a ticket whose number is not final blocks those behind it, and none before it") {
    auto proposed = ticket(2, "proposed", 4, four, 5);
    proposed.is_final = false;
    const auto before = ticket(3, "before", 1, four, 4);
    const auto behind = ticket(4, "behind", 1, four, 6);
    const auto there = board({proposed, before, behind});
    CHECK(decide(there, before).fits);
    CHECK_FALSE(decide(there, behind).fits);
}

TEST_CASE("a higher priority goes ahead in the line") {
    const auto late = ticket(4, "late", 2, four, 9, 1);
    const auto early = ticket(3, "early", 2, four, 1);
    const auto there = board({holder(1, "old", {"g0", "g1"}), early, late});
    CHECK(decide(there, late).fits);
    CHECK_FALSE(decide(there, early).fits);
}

TEST_CASE("those that want other units do not stand in the way") {
    const auto own = ticket(3, "own", 2, {"g2", "g3"}, 2);
    const auto there = board({ticket(2, "other", 2, {"g0", "g1"}, 1), own});
    const auto verdict = decide(there, own);
    CHECK(verdict.fits);
    CHECK(verdict.place == 1);
    CHECK(verdict.ahead.empty());
}

TEST_CASE("one that may choose is counted on to leave what others need") {
    const auto own = ticket(3, "own", 1, {"g0"}, 2);
    const auto there = board({ticket(2, "other", 1, {"g0", "g1"}, 1), own});
    CHECK(decide(there, own).fits);
}

TEST_CASE("a ticket of the asker's own is read as the asker says it, not as it stands there") {
    const auto there = board({holder(3, "own", {"g0"}), ticket(4, "next", 1, four, 2)});
    const auto verdict = decide(there, ticket(3, "own", 4, four, 1));
    CHECK(verdict.fits);
    CHECK(verdict.holders.empty());
}

TEST_CASE("parts of one job on one host that want more than it has are told, and of whom") {
    const auto part = [](std::uint64_t id, const char* node, int wanted, const Names& candidates) {
        auto one = ticket(id, "wide", wanted, candidates, 1);
        one.who.node = node;
        return one;
    };
    const auto a = part(1, "a", 3, four);
    const auto b = part(2, "b", 2, four);
    const auto apart = part(3, "apart", 1, {"g7"});
    CHECK(decide(board({a, b, apart}), a).own_rivals == Names{"b"});
    CHECK(decide(board({a, b, apart}), apart).own_rivals.empty());
    CHECK(decide(board({part(1, "a", 2, four), b}), b).own_rivals.empty());
    auto namesake = part(4, "a", 3, four);
    namesake.who.cluster = "another";
    CHECK(decide(board({namesake, b}), b).own_rivals.empty());
}

TEST_CASE("of one job's parts on a host the one with less choice is served first") {
    auto choosy = ticket(1, "wide", 1, {"g0"}, 1);
    choosy.who.node = "z";
    auto free = ticket(2, "wide", 1, {"g0", "g1"}, 1);
    free.who.node = "a";
    const auto there = board({choosy, free});
    CHECK(decide(there, choosy).fits);
    CHECK(decide(there, free).free == Names{"g1"});
}

} // namespace board_test

// What libraft 0.15 would do wrong by itself, and what upstream has mended since: each with the messages that
// bring it about, from two voters that are played here.
#include "node/book/message.hpp"
#include "unit/node/book/simulated_book.hpp"

namespace voter_test {

using namespace dockdist;
using namespace dockdist::simulated;

namespace {

constexpr VoterId me = 1;
const Members three{{.id = me, .votes = true}, {.id = 2, .votes = true}, {.id = 3, .votes = true}};

LogEntry put(std::uint64_t term, const std::string& name) {
    return {.term = term,
            .bytes = to_bytes(RecordChange{.name = name, .bytes = "of " + std::to_string(term)})};
}
LogEntry barrier(std::uint64_t term) {
    return {.term = term, .type = EntryType::barrier};
}

// Voter 1.
struct One {
    SimulatedDisk disk{};
    std::vector<std::pair<VoterId, Message>> said{};
    std::vector<std::string> changed{};
    std::int64_t now = 1000;
    Voter voter{VoterOptions{.self = me,
                             .election_ms = election_ms,
                             .heartbeat_ms = heartbeat_ms,
                             .log_bytes = 1000,
                             .random = [](int least, int) { return least; }},
                disk,
                [this](VoterId to, const std::string& bytes) {
                    auto message = parse_message(bytes);
                    REQUIRE(message.has_value());
                    said.emplace_back(to, std::move(*message));
                },
                [this](const std::string& name) { changed.push_back(name); }};

    explicit One(const Members& members = three) {
        REQUIRE(Voter::found(disk, members).has_value());
        REQUIRE(voter.open(now).has_value());
    }
    void hear(VoterId from, const Message& message) {
        REQUIRE(voter.receive(from, to_bytes(message), now).has_value());
    }
    template <class Kind>
    Kind last() const {
        for (auto one = said.rbegin(); one != said.rend(); ++one) {
            if (const auto* found = std::get_if<Kind>(&one->second)) {
                return *found;
            }
        }
        FAIL("nothing of that kind was said");
        return {};
    }
    void be_elected() {
        now += election_ms + heartbeat_ms;
        voter.tick(now);
        const auto term = last<RequestVote>().term;
        hear(2, VoteResult{.term = term, .granted = true, .trial = true});
        hear(2, VoteResult{.term = term, .granted = true});
    }
};

} // namespace

TEST_CASE("a follower tells how far its log fits, not how long it is") {
    One one;
    one.hear(2, AppendEntries{.term = 2,
                              .before_index = 1,
                              .before_term = 1,
                              .committed = 1,
                              .entries = {barrier(2), put(2, "a"), put(2, "b")}});
    CHECK(one.last<AppendResult>() == AppendResult{.term = 2, .last_index = 4});
    // Of a leader that has only the first entry, and writes others behind it before this answer comes.
    one.hear(3, AppendEntries{.term = 3, .before_index = 1, .before_term = 1, .committed = 1});
    CHECK(one.last<AppendResult>() == AppendResult{.term = 3, .last_index = 1});
}

TEST_CASE("a leader takes an entry of a former term for committed with one of its own, not before") {
    One one;
    one.hear(2,
             AppendEntries{
                 .term = 2, .before_index = 1, .before_term = 1, .committed = 1, .entries = {put(2, "a")}});
    one.be_elected();
    CHECK_FALSE(one.voter.leads());
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 2});
    CHECK(one.voter.committed() == 1);
    CHECK(one.voter.records().all().empty());
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 3});
    CHECK(one.voter.committed() == 3);
    CHECK(one.voter.leads());
    CHECK(one.changed == std::vector<std::string>{"a"});
}

TEST_CASE("nothing that is proposed stands in the log before the leader may know what is committed") {
    One one;
    one.be_elected();
    std::vector<Answer> answers;
    one.voter.propose({.name = "a", .bytes = "1"}, [&](const Answer& answer) { answers.push_back(answer); });
    one.voter.propose({.name = "a", .bytes = "2"}, [&](const Answer& answer) { answers.push_back(answer); });
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 2});
    REQUIRE(one.voter.leads());
    CHECK(answers.empty());
    const auto sent = one.last<AppendEntries>();
    CHECK(sent.entries.size() == 2);
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 4});
    REQUIRE(answers.size() == 2);
    CHECK(answers[0] == Answer{.version = 3, .leader = me});
    CHECK(answers[1] == Answer{.outcome = Answer::Outcome::conflict, .version = 3, .leader = me});
}

TEST_CASE("what is proposed to a leader that loses its majority may or may not be: the answer says so") {
    One one;
    one.be_elected();
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 2});
    std::vector<Answer::Outcome> outcomes;
    for (const auto* name : {"a", "b"}) { // the second one waits for the first
        one.voter.propose({.name = name, .bytes = "1"},
                          [&](const Answer& answer) { outcomes.push_back(answer.outcome); });
    }
    for (int i = 0; i < 3 * static_cast<int>(election_ms / heartbeat_ms); ++i) {
        one.voter.tick(one.now += heartbeat_ms);
    }
    CHECK(outcomes == std::vector{Answer::Outcome::unknown, Answer::Outcome::not_leader});
    one.voter.propose({.name = "c", .bytes = "1"},
                      [&](const Answer& answer) { outcomes.push_back(answer.outcome); });
    CHECK(outcomes.back() == Answer::Outcome::not_leader);
}

TEST_CASE("members of an entry that is cut are none, also of one that was read from the disk") {
    for (const bool reads : {false, true}) {
        CAPTURE(reads);
        One leader;
        leader.be_elected();
        leader.hear(2, AppendResult{.term = leader.voter.term(), .last_index = 2});
        leader.voter.add(4, [](const Answer&) {});
        const auto changed = leader.disk.load()->entries.back();
        REQUIRE(changed.type == EntryType::members);

        One one;
        one.hear(2,
                 AppendEntries{.term = 5,
                               .before_index = 1,
                               .before_term = 1,
                               .committed = 1,
                               .entries = {{.term = 5, .type = EntryType::members, .bytes = changed.bytes}}});
        auto four = three;
        four.push_back({.id = 4});
        REQUIRE(one.voter.members() == four);
        if (reads) {
            REQUIRE(one.voter.open(one.now).has_value());
        }
        one.hear(
            3, AppendEntries{
                   .term = 6, .before_index = 1, .before_term = 1, .committed = 1, .entries = {barrier(6)}});
        CHECK(one.voter.members() == three);
        CHECK(one.last<AppendResult>() == AppendResult{.term = 6, .last_index = 2});
    }
}

TEST_CASE("a snapshot takes the place of an entry of a later term, which the leader does not have") {
    One one;
    one.hear(
        2, AppendEntries{
               .term = 5, .before_index = 1, .before_term = 1, .committed = 1, .entries = {put(5, "mine")}});
    Records records;
    records.apply({.name = "theirs", .bytes = "1"}, 2);
    one.hear(3,
             InstallSnapshot{
                 .term = 6,
                 .snapshot = {
                     .index = 2, .term = 2, .members_index = 1, .members = three, .state = records.save()}});
    CHECK(one.last<AppendResult>() == AppendResult{.term = 6, .last_index = 2});
    CHECK(one.voter.records().all() == records.all());
    CHECK(one.changed == std::vector<std::string>{""});
}

TEST_CASE(
    "what lies before a snapshot fits: a leader that begins there is not sent back to the first entry") {
    One one;
    one.hear(3, InstallSnapshot{
                    .term = 2,
                    .snapshot = {.index = 9, .term = 2, .members_index = 1, .members = three, .state = ""}});
    one.hear(3, AppendEntries{.term = 2, .before_index = 4, .before_term = 2, .committed = 4});
    CHECK(one.last<AppendResult>() == AppendResult{.term = 2, .last_index = 9});
    one.hear(3, AppendEntries{.term = 2,
                              .before_index = 8,
                              .before_term = 2,
                              .committed = 9,
                              .entries = {put(2, "a"), put(2, "b")}});
    CHECK(one.last<AppendResult>() == AppendResult{.term = 2, .last_index = 10});
}

TEST_CASE("a term has one leader: who leads it hears no other one of it") {
    One one;
    one.be_elected();
    const auto before = one.said.size();
    one.hear(3, AppendEntries{.term = one.voter.term(), .before_index = 1, .before_term = 1});
    one.hear(3, InstallSnapshot{
                    .term = one.voter.term(),
                    .snapshot = {.index = 9, .term = 1, .members_index = 1, .members = three, .state = ""}});
    CHECK(one.said.size() == before);
    CHECK(one.voter.leader() == me);
}

TEST_CASE("an only voter leads at once, in a term of its own each time") {
    One one(Members{{.id = me, .votes = true}});
    REQUIRE(one.voter.leads());
    const auto term = one.voter.term();
    Answer answered;
    one.voter.propose({.name = "a", .bytes = "1"}, [&](const Answer& answer) { answered = answer; });
    CHECK(answered.outcome == Answer::Outcome::accepted);
    CHECK(one.said.empty());
    Voter again(
        {.self = me, .random = [](int least, int) { return least; }}, one.disk,
        [](VoterId, const std::string&) {}, [](const std::string&) {});
    REQUIRE(again.open(one.now).has_value());
    CHECK(again.term() > term);
    CHECK(again.records().all().at("a").version == answered.version);
}

TEST_CASE("a full disk acknowledges nothing, says why, and goes on when there is room") {
    One one;
    one.disk.full = true;
    const AppendEntries entries{
        .term = 2, .before_index = 1, .before_term = 1, .committed = 1, .entries = {put(2, "a")}};
    one.hear(2, entries);
    one.hear(2, RequestVote{.term = 9, .last_index = 9, .last_term = 2});
    CHECK(one.said.empty());
    REQUIRE(one.voter.failed().has_value());
    CHECK(one.voter.failed()->message == "No space left on device");
    one.disk.full = false;
    one.voter.tick(one.now += election_ms);
    CHECK_FALSE(one.voter.failed().has_value());
    one.hear(2, entries);
    CHECK(one.last<AppendResult>() == AppendResult{.term = 2, .last_index = 2});
}

TEST_CASE("a leader whose disk is full leads no more, and says that it does not know") {
    One one;
    one.be_elected();
    one.hear(2, AppendResult{.term = one.voter.term(), .last_index = 2});
    const auto before = one.said.size();
    one.disk.full = true;
    Answer answered;
    one.voter.propose({.name = "a", .bytes = "1"}, [&](const Answer& answer) { answered = answer; });
    CHECK(answered.outcome == Answer::Outcome::unknown);
    CHECK_FALSE(one.voter.leads());
    CHECK(one.said.size() == before); // and nobody else has heard of it
}

TEST_CASE("members are changed one after the other, within their limits, by the leader") {
    One one(Members{{.id = me, .votes = true}});
    std::vector<Answer> answers;
    const auto keep = [&](const Answer& answer) { answers.push_back(answer); };
    using Outcome = Answer::Outcome;
    const auto outcome = [&] { return answers.back().outcome; };
    one.voter.remove(me, keep);
    CHECK(outcome() == Outcome::refused);
    one.voter.promote(7, keep);
    CHECK(outcome() == Outcome::refused); // no member
    one.voter.add(7, keep);
    CHECK(outcome() == Outcome::accepted);
    one.voter.add(7, keep);
    CHECK(outcome() == Outcome::refused);
    one.voter.promote(7, keep); // waits until it has all
    CHECK(answers.size() == 4);
    one.voter.add(8, keep);
    CHECK(answers.back().why == "another change of members is under way");
    const auto term = one.voter.term();
    one.voter.tick(one.now += heartbeat_ms);
    const auto sent = one.last<AppendEntries>();
    const auto all = sent.before_index + sent.entries.size();
    one.hear(7, AppendResult{.term = term, .last_index = all});
    CHECK(one.voter.members() == Members{{.id = me, .votes = true}, {.id = 7, .votes = true}});
    CHECK(answers.size() == 5); // two voters: both must have it
    one.hear(7, AppendResult{.term = term, .last_index = all + 1});
    CHECK(outcome() == Outcome::accepted);
    one.voter.remove(me, keep);
    CHECK(answers.back().why == "it leads");
    one.voter.step_down();
    CHECK_FALSE(one.voter.leads());
    one.voter.remove(7, keep);
    CHECK(outcome() == Outcome::not_leader);
}

TEST_CASE("who steps down leaves the next election to others, and votes") {
    One one;
    one.be_elected();
    one.voter.step_down();
    const auto before = one.said.size();
    for (int i = 0; i < 3 * static_cast<int>(election_ms / heartbeat_ms); ++i) {
        one.voter.tick(one.now += heartbeat_ms);
    }
    CHECK(one.said.size() == before);
    one.hear(2, RequestVote{.term = 9, .last_index = 9, .last_term = 2});
    CHECK(one.last<VoteResult>() == VoteResult{.term = 9, .granted = true});
}

TEST_CASE("a spare votes: it may be a voter by an entry that has not reached it") {
    One one(Members{{.id = 2, .votes = true}, {.id = me}});
    one.hear(2, AppendEntries{.term = 1, .before_index = 1, .before_term = 1, .committed = 1});
    REQUIRE(one.voter.leader() == 2);
    one.hear(2, RequestVote{.term = 2, .last_index = 2, .last_term = 1});
    CHECK(one.last<VoteResult>() == VoteResult{.term = 2, .granted = true});
    CHECK(one.voter.members() == Members{{.id = 2, .votes = true}, {.id = me}});
    one.now += 5 * election_ms;
    const auto before = one.said.size();
    one.voter.tick(one.now);
    CHECK(one.said.size() == before); // and does not stand
}

} // namespace voter_test

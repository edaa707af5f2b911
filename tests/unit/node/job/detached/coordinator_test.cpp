#include "node/job/detached/coordinator.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

#include <memory>

namespace coordinator_test {

using namespace dockdist;
using namespace dockdist::node;
using Command = wire::JobCommand::Type;
using Event = wire::JobEvent::Type;

namespace {

constexpr std::int64_t lease_ms = 10000;
constexpr std::int64_t longest_tick_ms = 1000; // how late the coordinator may be

// "halt#0", "stop/500", "begin#1", "over".
std::string text(const wire::JobCommand& command) {
    switch (command.type) {
    case Command::halt:
        return "halt#" + std::to_string(command.attempt);
    case Command::begin:
        return "begin#" + std::to_string(command.attempt);
    case Command::stop:
        return "stop/" + std::to_string(command.grace_ms);
    case Command::over:
        return "over";
    default:
        return "?";
    }
}

// A job of three parts; the coordinator is with the first.
struct Job {
    explicit Job(int max_restarts = 0) {
        wire::JobPolicy policy{.max_restarts = max_restarts, .backoff_ms = 5000, .grace_ms = 500};
        for (const auto* name : {"node-0", "node-1", "node-2"}) {
            policy.parts.push_back({.node = name});
        }
        coordinator =
            std::make_unique<Coordinator>(time.loop, policy, listen_at(scratch / "member"), lease_ms);
        coordinator->on_order = [this](const wire::JobCommand& order) { own.push_back(text(order)); };
        coordinator->on_note = [this](const std::string& line) { notes.push_back(line); };
        for (const int part : {1, 2}) {
            members.push_back(dial(part));
        }
        coordinator->hear_own({.type = Event::started});
        for (auto& member : members) {
            tell(member, {.type = Event::started});
        }
    }

    Peer dial(int part) {
        Peer peer(scratch / "member");
        peer.say(R"({"part":)" + std::to_string(part) + "}");
        time.settle();
        return peer;
    }
    void tell(Peer& member, const wire::JobEvent& event) {
        member.say(wire::job_event(event));
        time.settle();
    }
    void everybody_ended(int attempt) {
        const wire::JobEvent ended{.type = Event::ended, .attempt = attempt, .result = {.attempt = attempt}};
        coordinator->hear_own(ended);
        tell(members[0], ended);
        tell(members[1], ended);
    }
    // Time passes; these members answer the coordinator's pings.
    void pass(std::int64_t milliseconds, const std::vector<Peer*>& alive) {
        for (std::int64_t passed = 0; passed < milliseconds; passed += longest_tick_ms) {
            for (auto* member : alive) {
                member->say("");
            }
            time.pass(std::min(longest_tick_ms, milliseconds - passed));
        }
    }
    static std::vector<std::string> orders(Peer& member) {
        std::vector<std::string> all;
        for (const auto& line : member.heard()) {
            const auto command = wire::parse_job_command(line);
            REQUIRE(command.has_value());
            if (command->type != Command::ping) {
                all.push_back(text(*command));
            }
        }
        return all;
    }

    using Texts = std::vector<std::string>;
    Scratch scratch{};
    TurnedLoop time{};
    Texts own{}, notes{};
    std::unique_ptr<Coordinator> coordinator{};
    std::vector<Peer> members{};
};
using Texts = Job::Texts;

} // namespace

TEST_CASE("members that answer are kept for ever, and each is pinged") {
    Job job;
    job.pass(20 * lease_ms, {&job.members[0], &job.members[1]});
    CHECK(job.notes.empty());
    CHECK(job.own.empty());
    const auto lines = job.members[0].heard();
    CHECK(lines.size() >= 20 * lease_ms / longest_tick_ms);
    CHECK(lines.back() == R"({"type":"ping"})");
}

TEST_CASE("a member that is not heard of for the lease is lost, and the job is stopped everywhere") {
    Job job;
    job.pass(lease_ms - longest_tick_ms, {&job.members[0]});
    CHECK(job.notes.empty());
    job.pass(2 * longest_tick_ms, {&job.members[0]});
    CHECK(job.notes ==
          Texts{"dockdist: nothing was heard of node-2 for 10 s: the job is stopped everywhere"});
    CHECK(Job::orders(job.members[0]) == Texts{"stop/500"});
    CHECK_FALSE(job.members[0].is_closed());
    job.members[1].heard();
    CHECK(job.members[1].is_closed()); // no later ping keeps its part alive
    CHECK(job.own == Texts{"halt#0"}); // it stays until the other is gone
    job.tell(job.members[0], {.type = Event::exited, .result = {.code = 143, .stopped = true}});
    CHECK(job.own == Texts{"halt#0", "over"});
}

TEST_CASE("a member that comes back after it was lost is told to stop") {
    Job job;
    job.pass(lease_ms + longest_tick_ms, {&job.members[0]});
    auto back = job.dial(2);
    CHECK(Job::orders(back) == Texts{"stop/0"});
    CHECK(back.is_closed());
}

TEST_CASE("a link that breaks for less than the lease loses nothing: the last order is given again") {
    Job job(1);
    job.members[1].close();
    job.tell(job.members[0], {.type = Event::rank_failed, .failure = {.rank = 1, .code = 7}});
    CHECK(Job::orders(job.members[0]) == Texts{"halt#0"});
    job.pass(lease_ms / 2, {&job.members[0]});
    auto again = job.dial(2);
    CHECK(Job::orders(again) == Texts{"halt#0"});
    job.pass(lease_ms - longest_tick_ms, {&job.members[0]});
    CHECK(job.notes.size() == 1); // of the failure; nobody is lost
}

TEST_CASE("of two links of one member the new one counts") {
    Job job;
    auto again = job.dial(1);
    CHECK_FALSE(again.is_closed());
    job.members[0].heard();
    CHECK(job.members[0].is_closed());
    job.coordinator->stop_members(3000);
    CHECK(Job::orders(again) == Texts{"stop/3000"});
    CHECK(Job::orders(job.members[1]) == Texts{"stop/3000"});
}

TEST_CASE("a failed attempt is halted everywhere, and the next one begins after the backoff") {
    Job job(1);
    job.tell(job.members[0], {.type = Event::rank_failed, .failure = {.rank = 3, .code = 7}});
    CHECK(job.own == Texts{"halt#0"});
    CHECK(Job::orders(job.members[1]) == Texts{"halt#0"});
    CHECK(job.notes == Texts{"dockdist: node-1: rank 3 exited with 7: attempt 2 of 2 begins in 5 s"});
    job.everybody_ended(0);
    job.pass(5000 - longest_tick_ms, {&job.members[0], &job.members[1]});
    CHECK(job.own == Texts{"halt#0"});
    job.pass(2 * longest_tick_ms, {&job.members[0], &job.members[1]});
    CHECK(job.own == Texts{"halt#0", "begin#1"});
    CHECK(Job::orders(job.members[1]) == Texts{"begin#1"});
}

TEST_CASE("the own part goes last, when all have ended and every member is gone") {
    Job job;
    job.everybody_ended(0);
    CHECK(Job::orders(job.members[0]) == Texts{"over"});
    CHECK(Job::orders(job.members[1]) == Texts{"over"});
    CHECK(job.own.empty());
    job.tell(job.members[0], {.type = Event::exited});
    CHECK(job.own.empty());
    job.tell(job.members[1], {.type = Event::exited});
    CHECK(job.own == Texts{"over"});
}

TEST_CASE("who greets with another part, or with none, is turned away") {
    Job job;
    for (const auto* greeting : {"0", "3", "-1", "\"1\""}) {
        Peer stranger(job.scratch / "member");
        stranger.say(std::string(R"({"part":)") + greeting + "}");
        job.time.settle();
        CAPTURE(greeting);
        CHECK(stranger.is_closed());
    }
}

} // namespace coordinator_test

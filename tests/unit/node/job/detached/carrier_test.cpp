#include "node/job/detached/carrier.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace carrier_test {

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

std::string greeting(int part, std::int64_t term) {
    auto line = wire::link_greeting({.part = static_cast<std::size_t>(part), .term = term});
    line.pop_back();
    return line;
}

// A job of three parts; the coordinator is with the first.
struct Job {
    explicit Job(int max_restarts = 0) {
        wire::JobPolicy policy{.max_restarts = max_restarts, .backoff_ms = 5000, .grace_ms = 500};
        for (const auto* name : {"node-0", "node-1", "node-2"}) {
            policy.parts.push_back({.node = name});
        }
        coordinator = std::make_unique<Carrier>(
            time.loop, Carrier::Settings{.policy = policy, .lease_ms = lease_ms, .scratch = scratch.path},
            door_at(scratch / "member"),
            Carrier::Listener{.on_order = [this](const auto& order) { own.push_back(text(order)); },
                              .on_note = [this](const auto& line) { notes.push_back(line); }});
        coordinator->begin();
        for (const int part : {1, 2}) {
            members.push_back(dial(part));
        }
        coordinator->hear_own({.type = Event::started});
        for (auto& member : members) {
            tell(member, {.type = Event::started});
        }
    }

    Peer knock() const {
        auto peer = Peer::at_door(scratch / "member", scratch.path);
        REQUIRE(peer.has_value());
        return std::move(*peer);
    }
    Peer dial(int part) {
        auto peer = knock();
        peer.say(greeting(part, 0));
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
    std::unique_ptr<Carrier> coordinator{};
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
    const auto ping = wire::parse_link_ping(lines.back(), 3);
    REQUIRE(ping.has_value());
    CHECK((ping->leads && ping->term == 0));
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

TEST_CASE("a member that does not answer is pinged no more, until it does") {
    Job job;
    job.pass(lease_ms - 2 * longest_tick_ms, {&job.members[0]});
    CHECK(job.members[1].heard().size() <= 3000 / longest_tick_ms + 2);
    job.pass(2 * longest_tick_ms, {&job.members[0], &job.members[1]});
    CHECK_FALSE(job.members[1].heard().empty());
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
    job.coordinator->stop_members(3000, 0);
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
        auto stranger = job.knock();
        stranger.say(std::string(R"({"part":)") + greeting + "}");
        job.time.settle();
        CAPTURE(greeting);
        CHECK(stranger.is_closed());
    }
}

TEST_CASE("those who say nothing, or no end of it, keep no member out") {
    Job job;
    std::vector<Peer> silent;
    for (int i = 0; i < 100; ++i) {
        silent.push_back(job.knock());
        job.time.settle();
    }
    CHECK(std::ranges::count_if(silent, [](Peer& one) { return !one.is_closed(); }) < 20);
    auto endless = job.knock();
    for (int i = 0; i < 8 && !endless.is_closed(); ++i) {
        endless.say(std::string(2000, 'x'));
        job.time.settle();
    }
    CHECK(endless.is_closed());
    auto again = job.dial(1);
    job.tell(again, {.type = Event::rank_failed, .failure = {.rank = 1, .code = 7}});
    CHECK(Job::orders(job.members[1]) == Texts{"stop/500"});
}

namespace {

// Three parts of a job that may lose one, each with its carrier; the links between them need no ssh here.
struct Three {
    struct Part {
        std::unique_ptr<Carrier> carrier{};
        std::unique_ptr<Peer> link{}; // to its coordinator
        std::vector<std::string> orders{}, notes{};
        bool silent = false, over = false;
    };
    Three() {
        wire::JobPolicy policy{.max_restarts = 1, .backoff_ms = 1000, .grace_ms = 500, .min_nodes = 2};
        for (int i = 0; i < 3; ++i) {
            policy.parts.push_back({.node = "node-" + std::to_string(i)});
            policy.members.push_back(i);
        }
        policy.relaunch =
            R"({"launcher":"plain","job":"job-0","command":["true"],"nodes":[{"name":"node-0","address":"10.0.0.1","ports":[20000]},)"
            R"({"name":"node-1","address":"10.0.0.2","ports":[20000]},{"name":"node-2","address":"10.0.0.3","ports":[20000]}]})";
        for (std::size_t i = 0; i < 3; ++i) {
            auto& part = parts[i];
            part.carrier = std::make_unique<Carrier>(
                time.loop,
                Carrier::Settings{.own = i, .policy = policy, .lease_ms = lease_ms, .scratch = scratch.path},
                door_at(place(i)),
                Carrier::Listener{.on_order = [this, i](const auto& order) { obey(i, order); },
                                  .on_note = [&part](const auto& line) { part.notes.push_back(line); },
                                  .on_coordinator = [this, i](const auto& who) { dial(i, who); },
                                  .on_silence = [&part] { part.silent = true; },
                                  .on_over = [&part] { part.over = true; }});
            part.carrier->begin();
        }
        pass(lease_ms);
    }
    std::string place(std::size_t part) const { return (scratch / "member-") + std::to_string(part); }
    void dial(std::size_t part, std::optional<Carrier::Listener::Target> coordinator) {
        parts[part].link.reset();
        target[part] = coordinator;
        if (!coordinator) {
            return;
        }
        if (auto linked = Peer::at_door(place(coordinator->part), scratch.path)) {
            parts[part].link = std::make_unique<Peer>(std::move(*linked));
            parts[part].link->say(greeting(static_cast<int>(part), coordinator->term));
        }
    }
    void obey(std::size_t part, const wire::JobCommand& order) {
        parts[part].orders.push_back(text(order));
        if (order.type == Command::halt || order.type == Command::begin) {
            const auto type = order.type == Command::halt ? Event::ended : Event::started;
            tell(part, {.type = type,
                        .attempt = order.attempt,
                        .result = {.code = 143, .stopped = true, .attempt = order.attempt}});
        }
    }
    void tell(std::size_t part, const wire::JobEvent& event) {
        if (parts[part].link) {
            parts[part].link->say(wire::job_event(event));
        }
        parts[part].carrier->hear_own(event);
    }
    // What the supervisors do, over and over.
    void pass(std::int64_t milliseconds) {
        for (std::int64_t passed = 0; passed < milliseconds; passed += 100) {
            time.pass(100);
            for (std::size_t i = 0; i < 3; ++i) {
                hear(i);
            }
        }
    }
    void hear(std::size_t part) {
        auto& own = parts[part];
        if (own.carrier && !own.link) {
            dial(part, target[part]);
        }
        if (!own.carrier || !own.link) {
            return;
        }
        for (const auto& line : own.link->heard()) {
            const auto command = wire::parse_job_command(line);
            REQUIRE(command.has_value());
            if (command->type != Command::ping) {
                obey(part, *command);
                continue;
            }
            const auto* const link = own.link.get();
            const auto pong = own.carrier->hear_ping(line);
            if (!own.link || own.link.get() != link) {
                return;
            }
            if (pong && !own.link->is_closed()) {
                own.link->say(pong->substr(0, pong->size() - 1));
            }
        }
        if (own.link && own.link->is_closed()) {
            dial(part, target[part]);
        }
    }
    void lose(std::size_t part) {
        parts[part].link.reset();
        parts[part].carrier.reset();
    }

    Scratch scratch{};
    TurnedLoop time{};
    std::array<std::optional<Carrier::Listener::Target>, 3> target{};
    std::array<Part, 3> parts{};
};

} // namespace

TEST_CASE("without its coordinator the next part takes over, halts the rest, and begins anew without it") {
    Three job;
    CHECK(job.parts[0].carrier->leads());
    job.lose(0);
    job.pass(lease_ms - 2000);
    CHECK_FALSE(job.parts[1].silent);
    job.pass(5000);
    CHECK((job.parts[1].silent && job.parts[2].silent));
    CHECK(job.parts[1].carrier->leads());
    CHECK_FALSE(job.parts[2].carrier->leads());
    const auto& notes = job.parts[1].notes;
    CHECK(notes.at(0) == "dockdist: node-1 carries the job from now on, in place of node-0");
    CHECK(notes.at(1).starts_with("dockdist: node-0: lost: nothing was heard of node-0 for 10 s: attempt 2"));
    CHECK(notes.at(2).starts_with("dockdist: node-0: does not answer: its ranks may run for 5."));
    job.pass(6000);
    CHECK(job.parts[1].orders == Texts{"halt#0", "begin#1"});
    CHECK(job.parts[2].orders == Texts{"halt#0", "begin#1"});
    CHECK_FALSE((job.parts[1].over || job.parts[2].over));
}

TEST_CASE("a coordinator that resigns is followed without the lease") {
    Three job;
    job.parts[0].carrier->resign();
    CHECK_FALSE(job.parts[0].over);
    job.pass(4000);
    CHECK(job.parts[1].carrier->leads());
    CHECK(job.parts[1].notes.at(1) == "dockdist: node-0: lost: node-0 has left the job: attempt 2 of 2 "
                                      "begins without it on 2 nodes, once its ranks have ended");
    job.tell(0, {.type = Event::rank_failed, .failure = {.rank = 0, .code = 7}});
    CHECK(job.parts[0].orders.empty()); // it decides nothing more
}

TEST_CASE("a coordinator that has lost the others ends its part, and decides nothing") {
    Three job;
    job.parts[1].link.reset();
    job.parts[2].link.reset();
    job.target = {};
    for (const std::size_t i : {1U, 2U}) {
        job.parts[i].carrier.reset();
    }
    job.pass(lease_ms + 1000);
    CHECK(job.parts[0].over);
    CHECK(job.parts[0].orders.empty());
    CHECK(job.parts[0].notes.empty());
}

} // namespace carrier_test

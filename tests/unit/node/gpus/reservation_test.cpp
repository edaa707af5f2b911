#include "node/gpus/reservation.hpp"
#include "unit/node/gpus/shared_board.hpp"
#include "unit/node/turned_loop.hpp"

#include <deque>

namespace reservation_test {

using namespace dockdist;
using namespace dockdist::node;
using State = wire::GpuTurn::State;

namespace {

// One part on the host's only node, whose two slots they all want some of.
struct PartOfAJob {
    PartOfAJob(TurnedLoop& on, const std::string& job, int count, std::int64_t number = 0,
               const std::string& node = "n")
        : time(on) {
        reservation = std::make_unique<Reservation>(
            time.loop,
            GpuRequest{.who = {.cluster = "c", .node = node, .job = job},
                       .ask = {.count = count, .number = number}},
            KnownGpus{.cluster = "c", .node = "n", .slots = 2},
            Reservation::Listener{.on_turn = [this](const wire::GpuTurn& turn) { told.push_back(turn); },
                                  .on_error = [this](const Error& error) { errors.push_back(error); }});
        reservation->begin();
        time.settle();
    }
    wire::GpuTurn last() {
        time.settle();
        REQUIRE_FALSE(told.empty());
        return told.back();
    }
    wire::GpuTurn line(std::int64_t number = 0) {
        reservation->line(number, ++order);
        auto turn = last();
        CHECK(turn.order == order);
        return turn;
    }
    wire::GpuTurn get_in_line() { return line(line().number); }
    wire::GpuTurn take() {
        reservation->take(++order);
        auto turn = last();
        CHECK(turn.order == order);
        return turn;
    }
    void go() {
        reservation.reset();
        time.pass(300);
    }

    TurnedLoop& time;
    std::unique_ptr<Reservation> reservation{};
    std::vector<wire::GpuTurn> told{};
    std::vector<Error> errors{};
    std::int64_t order = 0;
};

struct AHost {
    SharedBoard board{};
    TurnedLoop time{};
};

} // namespace

TEST_CASE("what is free is taken at once, and told with what it is") {
    AHost host;
    PartOfAJob one(host.time, "one", 1);
    REQUIRE(one.told.size() == 1);
    CHECK(one.told[0].state == State::taken);
    CHECK(one.told[0].units == std::vector{wire::GpuUnit{.id = "slot:c/n/0", .index = 0}});
    CHECK(one.told[0].wanted == 1);
    PartOfAJob all(host.time, "all", wire::all_units);
    CHECK(all.last().state == State::waits);
    CHECK(all.last().wanted == 2);
    REQUIRE(all.last().held.size() == 1);
    CHECK(all.last().held[0].by.job == "one");
    CHECK(SharedBoard::jobs() == std::vector<std::string>{"one"}); // it has no ticket yet
}

TEST_CASE("a request for none is for none, and makes nothing") {
    AHost host;
    PartOfAJob none(host.time, "none", 0);
    CHECK(none.last().state == State::none);
    CHECK(none.line().state == State::none);
    CHECK_FALSE(BoardFile::open_to_look().has_value());
}

TEST_CASE("a job in line is told when its turn has come, and takes when it is told to") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob next(host.time, "next", 1);
    const auto proposed = next.line();
    CHECK(proposed.state == State::waits);
    CHECK(proposed.number == 1);
    CHECK(next.line(7).number == 7);
    PartOfAJob last(host.time, "last", 1);
    CHECK(last.line().number == 8); // behind all that the host has seen
    CHECK(last.line(8).place == 2);
    one.go();
    CHECK(next.last().state == State::fits);
    CHECK(last.last().state == State::fits); // there is one for each
    CHECK(next.take().state == State::taken);
    CHECK(next.last().number == 7);
    CHECK(last.take().units[0].index == 1);
    CHECK(SharedBoard::jobs() == std::vector<std::string>{"next", "last"});
}

TEST_CASE("one whose turn it is not gets nothing, and a ticket that is not final neither") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob large(host.time, "large", 2);
    PartOfAJob small(host.time, "small", 1);
    (void)large.get_in_line();
    (void)small.get_in_line();
    one.go();
    CHECK(small.take().state == State::waits);
    large.line(); // proposes anew
    CHECK(large.take().state == State::waits);
    CHECK(large.line(large.last().number).state == State::waits);
    host.time.pass(300);
    CHECK(small.last().state == State::fits);
}

TEST_CASE("what was taken is given back to the line, and kept by those who have it on") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    const auto turn = one.get_in_line();
    CHECK(turn.state == State::fits);
    CHECK(one.take().state == State::taken);
    CHECK(one.take().state == State::taken); // the order came twice
    auto held = one.reservation->hand_over();
    one.go();
    PartOfAJob next(host.time, "next", 1);
    CHECK(next.last().state == State::waits);
    (void)next.get_in_line();
    held.give_back();
    host.time.pass(300);
    CHECK(next.last().state == State::fits);
    CHECK(SharedBoard::jobs() == std::vector<std::string>{"next"});
}

TEST_CASE("one that comes back with its number has its place") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob early(host.time, "early", 1);
    const auto number = early.get_in_line().number;
    PartOfAJob late(host.time, "late", 1);
    (void)late.get_in_line();
    early.go();
    CHECK(late.last().place == 1);
    PartOfAJob back(host.time, "early", 1, number);
    REQUIRE(back.told.size() == 1);
    CHECK(back.told[0].place == 1);
    host.time.pass(300);
    CHECK(late.last().place == 2);
}

TEST_CASE("nothing is told twice but answers, however old it gets") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob next(host.time, "next", 1);
    (void)next.get_in_line();
    const auto count = next.told.size();
    host.time.pass(120000);
    CHECK(next.told.size() == count);
}

TEST_CASE("a ticket that somebody has wiped away comes back") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob next(host.time, "next", 1);
    (void)next.get_in_line();
    REQUIRE(SharedBoard::open().write({}).has_value());
    host.time.pass(300);
    CHECK(SharedBoard::jobs() == std::vector<std::string>{"next"});
    // What is held stays so, though nobody knows any more by whom.
    REQUIRE(next.last().held.size() == 2);
    CHECK(next.last().held[0].by.job.empty());
    CHECK(next.take().state == State::waits);
}

TEST_CASE("one that insists takes as soon as it can, without overtaking anybody") {
    AHost host;
    PartOfAJob one(host.time, "one", 2);
    PartOfAJob waits(host.time, "waits", 2);
    PartOfAJob again(host.time, "again", 1);
    (void)waits.get_in_line();
    again.reservation->insist();
    one.go();
    CHECK(waits.last().state == State::fits);
    CHECK(again.last().state == State::waits);
    waits.go();
    CHECK(again.last().state == State::taken);
}

TEST_CASE("a mutex that nobody gives is waited for without holding anything up, for five seconds") { // of one
                                                                                                     // holder
    AHost host;
    auto keeper = SharedBoard::open();
    REQUIRE(keeper.try_mutex());
    PartOfAJob one(host.time, "one", 1);
    host.time.pass(4900);
    CHECK(one.told.empty());
    CHECK(one.errors.empty());
    SUBCASE("then it goes on") {
        keeper.release_mutex();
        host.time.pass(10);
        CHECK(one.last().state == State::taken);
    }
    SUBCASE("one that goes from hand to hand is waited for as long as it does, and no longer than a minute") {
        for (int i = 0; i < 12; ++i) {
            const auto before = keeper.released_at_ns();
            while (keeper.released_at_ns() == before) { // a file's times are in steps of milliseconds
                keeper.release_mutex();
                REQUIRE(keeper.try_mutex());
            }
            CHECK(one.errors.empty());
            host.time.pass(4900);
        }
        REQUIRE(one.errors.size() == 1);
    }
    SUBCASE("then it is an error") {
        host.time.pass(200);
        REQUIRE(one.errors.size() == 1);
        CHECK(one.errors[0].message.find("locked for 5 s") != std::string::npos);
    }
}

} // namespace reservation_test

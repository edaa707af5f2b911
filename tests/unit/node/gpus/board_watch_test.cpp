#include "node/gpus/board_watch.hpp"
#include "unit/node/gpus/shared_board.hpp"
#include "unit/node/turned_loop.hpp"

#include <fstream>

namespace board_watch_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

struct Watched {
    explicit Watched(BoardWatch::Way way = BoardWatch::Way::any)
        : watch(time.loop, [this] { ++calls; }, way) {}
    // How many calls the time brings.
    int pass(std::int64_t milliseconds) {
        const int before = calls;
        time.pass(milliseconds);
        return calls - before;
    }
    SharedBoard host{};
    TurnedLoop time{};
    int calls = 0;
    BoardWatch watch;
    BoardFile other = SharedBoard::open();
};

} // namespace

TEST_CASE("a board that is replaced is told within milliseconds, and nothing is while nothing happens") {
    Watched watched;
    CHECK(watched.pass(20000) == 0);
    REQUIRE(watched.other.write({}).has_value());
    CHECK(watched.pass(10) == 1);
    CHECK(watched.pass(15000) == 1); // by and by
}

TEST_CASE("a participant that is gone is told, and once more when its locks are sure to be") {
    Watched watched;
    watched.pass(100);
    watched.other = BoardFile();
    CHECK(watched.pass(10) == 1);
    CHECK(watched.pass(1000) == 1);
}

TEST_CASE("many changes are told with the pause between") {
    Watched watched;
    watched.watch.set_pause(250);
    watched.pass(1000);
    int calls = 0;
    for (int i = 0; i < 100; ++i) {
        REQUIRE(watched.other.write({.last_number = i}).has_value());
        calls += watched.pass(10);
    }
    CHECK(calls >= 3);
    CHECK(calls <= 5);
}

TEST_CASE("files that are none of it are not told") {
    Watched watched;
    for (int i = 0; i < 100; ++i) {
        std::ofstream(watched.host.scratch / "noise") << i;
        std::ofstream(watched.host.scratch / "board.jso") << i;
    }
    CHECK(watched.pass(1000) == 0);
}

TEST_CASE("without inotify a change is told within a quarter of a second, and an end within two") {
    Watched watched(BoardWatch::Way::by_polling);
    REQUIRE(watched.other.write({}).has_value());
    CHECK(watched.pass(250) == 1);
    watched.other = BoardFile();
    CHECK(watched.pass(2000) == 1);
}

} // namespace board_watch_test

#include "unit/node/gpus/shared_board.hpp"

#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace board_file_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

BoardEntry waiting(std::uint64_t id) {
    return {.id = id, .who = {.job = "job-" + std::to_string(id)}, .wanted = 1};
}

} // namespace

TEST_CASE("an entry is there as long as its participant, and nobody else's") {
    const SharedBoard host;
    auto one = SharedBoard::open();
    auto board = *one.read();
    const auto id = one.make_entry(board);
    REQUIRE(id.has_value());
    board.entries = {waiting(*id), waiting(*id + 1)};
    REQUIRE(one.write(board).has_value());
    CHECK(one.read()->entries == std::vector{waiting(*id)});
    CHECK(SharedBoard::open().read()->entries == std::vector{waiting(*id)});
    one = BoardFile();
    CHECK(SharedBoard::open().read()->entries.empty());
}

TEST_CASE("a unit is one participant's, whatever the board says") {
    const SharedBoard host;
    auto one = SharedBoard::open();
    auto other = SharedBoard::open();
    CHECK(one.lock_unit("GPU-1"));
    CHECK_FALSE(other.lock_unit("GPU-1"));
    CHECK(other.lock_unit("GPU-2"));
    CHECK(other.unit_is_locked("GPU-1"));
    CHECK_FALSE(one.unit_is_locked("GPU-1")); // its own
    one.unlock_unit("GPU-1");
    CHECK(other.lock_unit("GPU-1"));
}

TEST_CASE("one has the mutex") {
    const SharedBoard host;
    auto one = SharedBoard::open();
    auto other = SharedBoard::open();
    CHECK(one.try_mutex());
    CHECK_FALSE(other.try_mutex());
    one.release_mutex();
    CHECK(other.try_mutex());
}

TEST_CASE("what is locked stays so until the last process that has the descriptor is gone") {
    const SharedBoard host;
    auto one = SharedBoard::open();
    CHECK(one.lock_unit("GPU-1"));
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    one = BoardFile();
    CHECK_FALSE(SharedBoard::open().lock_unit("GPU-1"));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(SharedBoard::open().lock_unit("GPU-1"));
}

TEST_CASE("a board that was lost begins anew behind those who are still there") {
    const SharedBoard host;
    auto one = SharedBoard::open();
    auto board = *one.read();
    REQUIRE(one.make_entry(board).value() == 1);
    std::ofstream(host.scratch / "board.json") << "{";
    auto other = SharedBoard::open();
    board = *other.read();
    CHECK(board == Board{});
    CHECK(other.make_entry(board).value() == 2);
    board.last_id = max_board_id;
    CHECK(SharedBoard::open().make_entry(board).value() == 3); // round it goes
}

TEST_CASE("a port is one node's, and who spoils the locks keeps nobody from it") {
    const SharedBoard host;
    auto held = lock_port("10.0.0.1", 2222);
    REQUIRE((held && held->open()));
    CHECK_FALSE(lock_port("10.0.0.1", 2222).has_value());
    CHECK(lock_port("10.0.0.1", 2223)->open());
    CHECK(lock_port("10.0.0.2", 2222)->open()); // another address of the host
    held.reset();
    CHECK(lock_port("10.0.0.1", 2222)->open());
    std::filesystem::remove(host.scratch / "ports");
    REQUIRE(::mkfifo((host.scratch / "ports").c_str(), 0600) == 0);
    const auto none = lock_port("10.0.0.1", 2222);
    REQUIRE(none.has_value());
    CHECK_FALSE(none->open());
}

TEST_CASE("one that only looks makes nothing, and can lock nothing") {
    const SharedBoard host;
    CHECK(BoardFile::open_to_look().error().kind == ErrorKind::not_found);
    auto one = SharedBoard::open();
    auto look = BoardFile::open_to_look();
    REQUIRE(look.has_value());
    CHECK_FALSE(look->lock_unit("GPU-1"));
    CHECK(one.lock_unit("GPU-1"));
    CHECK(look->unit_is_locked("GPU-1"));
}

} // namespace board_file_test

#include "node/gpus/held_units.hpp"
#include "node/gpus/unit_guard.hpp"
#include "patience.hpp"
#include "unit/node/gpus/shared_board.hpp"
#include "unit/node/turned_loop.hpp"

#include <chrono>
#include <csignal>
#include <sys/wait.h>

namespace unit_guard_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

pid_t process_of(const std::string& job) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        const auto mark = "DOCKDIST_JOB=" + job;
        char name[] = "sleep";
        char seconds[] = "1000";
        std::string variable = mark;
        char* argv[] = {name, seconds, nullptr};
        char* environment[] = {variable.data(), nullptr};
        ::execve("/bin/sleep", argv, environment);
        ::_exit(1);
    }
    return child;
}

} // namespace

TEST_CASE("the units of a supervisor that was killed are free when nothing of its job is left") {
    const SharedBoard host;
    const auto job = "guarded-" + std::to_string(::getpid());
    TurnedLoop time;
    UnitGuards guards(time.loop);
    const pid_t rank = process_of(job);
    const pid_t supervisor = process_of("");
    auto holder = SharedBoard::open();
    REQUIRE(holder.lock_unit("GPU-1"));
    guards.add(job, supervisor, Fd(::dup(holder.descriptor())));
    holder = BoardFile();
    guards.on_exit(supervisor + 1000000); // somebody else
    CHECK_FALSE(SharedBoard::open().lock_unit("GPU-1"));

    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    guards.on_exit(supervisor);
    const auto deadline = patience_ends();
    int status = 0;
    while (::waitpid(rank, &status, WNOHANG) == 0) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        CHECK_FALSE(SharedBoard::open().lock_unit("GPU-1"));
        time.pass(20);
    }
    while (guards.count() > 0) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        time.pass(20);
    }
    CHECK(SharedBoard::open().lock_unit("GPU-1"));
}

TEST_CASE("a supervisor that is gone before it is guarded is looked after at once") {
    const SharedBoard host;
    TurnedLoop time;
    UnitGuards guards(time.loop);
    const pid_t supervisor = process_of("");
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    auto holder = SharedBoard::open();
    guards.add("nobody-" + std::to_string(::getpid()), supervisor, Fd(::dup(holder.descriptor())));
    time.pass(100);
    CHECK(guards.count() == 0);
}

TEST_CASE("a descriptor travels with its datagram, and one without is none") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    const Fd here(ends[0]);
    const Fd there(ends[1]);
    REQUIRE(::send(here.get(), "text", 4, 0) == 4);
    const auto received = receive_with_descriptor(there.get(), 100);
    CHECK(received.text == "text");
    CHECK_FALSE(received.descriptor.open());
    CHECK(guard_units("j", -1).has_value());
}

} // namespace unit_guard_test

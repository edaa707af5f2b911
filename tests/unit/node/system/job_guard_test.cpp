#include "node/gpus/held_units.hpp"
#include "node/system/job_guard.hpp"
#include "patience.hpp"
#include "unit/node/gpus/shared_board.hpp"
#include "unit/node/turned_loop.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace job_guard_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr std::int64_t patience_ms = 10000;

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

// What processes do takes real time.
void until_none_is_left(const JobGuards& guards, TurnedLoop& time) {
    const auto deadline = patience_ends();
    while (guards.count() > 0) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        time.pass(20);
        ::usleep(1000);
    }
}

struct Line {
    Line() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
        here = Fd(ends[0]);
        there = Fd(ends[1]);
    }
    void say(char word) const { REQUIRE(::send(here.get(), &word, 1, MSG_NOSIGNAL) == 1); }
    Fd here{}, there{};
};

} // namespace

TEST_CASE("the units of a supervisor that was killed are free when nothing of its job is left") {
    const SharedBoard host;
    const auto job = "guarded-" + std::to_string(::getpid());
    TurnedLoop time;
    JobGuards guards(time.loop);
    const pid_t rank = process_of(job);
    const pid_t supervisor = process_of("");
    auto holder = SharedBoard::open();
    REQUIRE(holder.lock_unit("GPU-1"));
    guards.add(job, supervisor, patience_ms, Fd(::dup(holder.descriptor())), Fd());
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
    until_none_is_left(guards, time);
    CHECK(SharedBoard::open().lock_unit("GPU-1"));
}

TEST_CASE("a supervisor that is gone before it is guarded is looked after at once") {
    const SharedBoard host;
    TurnedLoop time;
    JobGuards guards(time.loop);
    const pid_t supervisor = process_of("");
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    auto holder = SharedBoard::open();
    guards.add("nobody-" + std::to_string(::getpid()), supervisor, patience_ms,
               Fd(::dup(holder.descriptor())), Fd());
    until_none_is_left(guards, time);
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
}

TEST_CASE("one that beats lives, however long; one that is silent for its patience is ended") {
    TurnedLoop time;
    JobGuards guards(time.loop);
    const pid_t supervisor = process_of("");
    Line line;
    guards.add("silent-" + std::to_string(::getpid()), supervisor, patience_ms, Fd(), std::move(line.there));
    for (int i = 0; i < 20; ++i) {
        line.say('b');
        time.pass(patience_ms / 2);
    }
    CHECK(::waitpid(supervisor, nullptr, WNOHANG) == 0);
    time.pass(patience_ms / 2);
    int status = 0;
    const auto deadline = patience_ends();
    while (::waitpid(supervisor, &status, WNOHANG) == 0) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        time.pass(patience_ms / 8);
        ::usleep(1000);
    }
    CHECK(WTERMSIG(status) == SIGKILL);
    guards.on_exit(supervisor);
    until_none_is_left(guards, time);
}

TEST_CASE("looks that PID 1 did not make count for nothing") {
    TurnedLoop time;
    JobGuards guards(time.loop);
    const pid_t supervisor = process_of("");
    Line line;
    guards.add("frozen-" + std::to_string(::getpid()), supervisor, patience_ms, Fd(), std::move(line.there));
    time.now_ms += 100 * patience_ms; // both stood still, as where the container is paused
    time.settle();
    line.say('b');
    time.pass(patience_ms / 2);
    CHECK(::waitpid(supervisor, nullptr, WNOHANG) == 0);
    line.say('o'); // nothing is left: nobody is looked for
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    guards.on_exit(supervisor);
    time.settle();
    CHECK(guards.count() == 0);
}

TEST_CASE("patience is the job's own lease, within bounds") {
    CHECK(patience_with(1) == 10000);
    CHECK(patience_with(30000) == 30000);
    CHECK(patience_with(3'600'000) == 60000);
}

} // namespace job_guard_test

#include "shared/core/lease_clock.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace lease_clock_test {

using namespace dockdist;

namespace {

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

std::int64_t monotonic() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Whether `holds`, in a process for whose kernel the machine has slept an hour; nothing where no such process
// can be had.
template <class Test>
int after_an_hour_of_sleep(Test holds) {
    constexpr int cannot = 2;
    const auto child = ::fork();
    if (child == 0) {
        constexpr std::string_view hour = "boottime 3600 0";
        const int offsets =
            ::unshare(CLONE_NEWTIME) == 0 ? ::open("/proc/self/timens_offsets", O_WRONLY) : -1;
        if (offsets < 0 || ::write(offsets, hour.data(), hour.size()) < 0) {
            ::_exit(cannot);
        }
        const auto sleeper = ::fork(); // children are in it
        if (sleeper == 0) {
            ::_exit(holds() ? 0 : 1);
        }
        int status = 0;
        ::waitpid(sleeper, &status, 0);
        ::_exit(WEXITSTATUS(status));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

} // namespace

TEST_CASE("a lease goes on while the machine sleeps") {
    const auto lease = lease_clock_ms();
    const auto other = monotonic();
    const int result = after_an_hour_of_sleep([&] {
        constexpr std::int64_t hour_ms = 3600 * 1000;
        return lease_clock_ms() - lease >= hour_ms && monotonic() - other < hour_ms &&
               LeaseClock::now().time_since_epoch().count() - lease >= hour_ms;
    });
    CHECK(result != 1);
    CHECK(LeaseClock::now() <= LeaseClock::now());
}

} // namespace lease_clock_test

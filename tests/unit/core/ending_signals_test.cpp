#include "shared/core/ending_signals.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ending_signals_test {

using namespace dockdist;

TEST_CASE("signals are named as people name them, and by one name") {
    for (const auto* name : {"INT", "SIGINT", "int", "SigInt"}) {
        CHECK(ending_signal(name) == SIGINT);
    }
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        CHECK(ending_signal(ending_signal_name(number)) == number);
    }
}

TEST_CASE("others are none by which a job is told to end") {
    for (const auto* name : {"", "SIG", "KILL", "STOP", "9", "INTER", "SIGSIGINT"}) {
        CHECK_FALSE(ending_signal(name).has_value());
    }
    CHECK(ending_signal_name(SIGKILL).empty());
}

} // namespace ending_signals_test

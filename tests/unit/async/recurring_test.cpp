#include "client/async/recurring.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <csignal>

namespace recurring_test {

using namespace dockdist;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// Whether the loop comes to its end by itself.
bool runs_out_of_work(boost::asio::io_context& io) {
    const auto limit = Clock::now() + 5s;
    while (Clock::now() < limit && io.run_one_until(limit) != 0) {
    }
    return io.stopped();
}

// Keeps the loop busy until `moment` has passed, so that what falls due until then comes in one go.
void spin_past(Clock::time_point moment) {
    while (Clock::now() <= moment) {
    }
}

} // namespace

TEST_CASE("a ticker ticks until it is stopped") {
    boost::asio::io_context io;
    int ticks = 0;
    Ticker* self = nullptr;
    Ticker ticker(io.get_executor(), 1ms, [&] {
        if (++ticks == 3) {
            self->stop();
        }
    });
    self = &ticker;
    CHECK(runs_out_of_work(io));
    CHECK(ticks == 3);
}

TEST_CASE("a ticker that is stopped when its tick has fallen due, and was not called yet, ends") {
    boost::asio::io_context io;
    int ticks = 0;
    boost::asio::steady_timer just_before(io);
    Ticker ticker(io.get_executor(), 20ms, [&] { ++ticks; });
    just_before.expires_after(10ms); // falls due before the tick, and is called before it
    just_before.async_wait([&](boost::system::error_code) { ticker.stop(); });
    boost::asio::post(io, [] { spin_past(Clock::now() + 25ms); });
    CHECK(runs_out_of_work(io));
    CHECK(ticks == 0);
}

TEST_CASE("a watch for signals that is stopped when one has come, and was not told yet, ends") {
    boost::asio::io_context io;
    int seen = 0;
    boost::asio::steady_timer at_once(io);
    SignalWatch watch(io.get_executor(), {SIGUSR1}, [&] { ++seen; });
    at_once.expires_after(1ms);
    at_once.async_wait([&](boost::system::error_code) { watch.stop(); });
    boost::asio::post(io, [] {
        std::raise(SIGUSR1);
        spin_past(Clock::now() + 2ms);
    });
    CHECK(runs_out_of_work(io));
    CHECK(seen == 0);
}

TEST_CASE("a watch tells each signal") {
    boost::asio::io_context io;
    int seen = 0;
    SignalWatch* self = nullptr;
    SignalWatch watch(io.get_executor(), {SIGUSR1, SIGUSR2}, [&] {
        if (++seen == 2) {
            self->stop();
        } else {
            std::raise(SIGUSR2);
        }
    });
    self = &watch;
    std::raise(SIGUSR1);
    CHECK(runs_out_of_work(io));
    CHECK(seen == 2);
}

TEST_CASE("a watch leaves a signal alone that is ignored, as nohup has it") {
    const auto before = std::signal(SIGUSR1, SIG_IGN);
    boost::asio::io_context io;
    int seen = 0;
    SignalWatch* self = nullptr;
    SignalWatch watch(io.get_executor(), {SIGUSR1, SIGUSR2}, [&] {
        ++seen;
        self->stop();
    });
    self = &watch;
    std::raise(SIGUSR1);
    io.poll();
    CHECK(seen == 0);
    CHECK((std::signal(SIGUSR1, before) == SIG_IGN));
    std::raise(SIGUSR2);
    CHECK(runs_out_of_work(io));
    CHECK(seen == 1);
}

} // namespace recurring_test

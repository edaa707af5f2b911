#include "client/async/async_event.hpp"
#include "client/async/cleanup.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace cleanup_test {

using namespace dockdist;

namespace {

Task<int> wait_then_count(AsyncEvent& gate, int& count) {
    co_await gate.wait();
    co_return ++count;
}

Task<void> clean(AsyncEvent& gate, int& count) {
    co_await gate.wait();
    ++count;
}

Task<int> work_then_clean_by_hand(AsyncEvent& never, AsyncEvent& gate, int& count) {
    std::exception_ptr cancelled;
    try {
        co_await never.wait();
    } catch (...) {
        cancelled = std::current_exception();
    }
    co_await uncancellable();
    co_await clean(gate, count);
    std::rethrow_exception(cancelled);
}

Task<int> crash() {
    throw std::runtime_error("a bug");
    co_return 0;
}

} // namespace

TEST_CASE("a shielded task runs to its end, and cancellation is thrown only then") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    int count = 0;
    Cancellable running(io, shielded(wait_then_count(gate, count)));
    io.poll();
    running.cancel();
    io.poll();
    CHECK_FALSE(running.ended());
    gate.set();
    running.wait();
    CHECK(count == 1);
    CHECK(running.ended_by_cancellation());
}

TEST_CASE("a shielded task that is not cancelled gives its result") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    gate.set();
    int count = 0;
    CHECK(run_task(io, shielded(wait_then_count(gate, count))) == 1);
}

TEST_CASE("clean-up runs after cancelled work, cannot be cancelled itself, and the cancellation goes on") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    AsyncEvent gate(io.get_executor());
    int worked = 0;
    int cleaned = 0;
    Cancellable running(io,
                        with_cleanup(wait_then_count(never, worked), [&] { return clean(gate, cleaned); }));
    io.poll();
    running.cancel();
    io.poll();
    running.cancel();
    io.poll();
    CHECK_FALSE(running.ended());
    gate.set();
    running.wait();
    CHECK(worked == 0);
    CHECK(cleaned == 1);
    CHECK(running.ended_by_cancellation());
}

TEST_CASE("clean-up runs after work that returned") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    gate.set();
    int worked = 0;
    int cleaned = 0;
    CHECK(run_task(io, with_cleanup(wait_then_count(gate, worked), [&] { return clean(gate, cleaned); })) ==
          1);
    CHECK(cleaned == 1);
}

TEST_CASE("clean-up runs after work that threw") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    gate.set();
    int cleaned = 0;
    CHECK_THROWS_WITH_AS(run_task(io, with_cleanup(crash(), [&] { return clean(gate, cleaned); })), "a bug",
                         std::runtime_error);
    CHECK(cleaned == 1);
}

TEST_CASE("uncancellable() lets a cancelled coroutine await its clean-up") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    AsyncEvent gate(io.get_executor());
    int cleaned = 0;
    Cancellable running(io, work_then_clean_by_hand(never, gate, cleaned));
    io.poll();
    running.cancel();
    io.poll();
    running.cancel();
    gate.set();
    running.wait();
    CHECK(cleaned == 1);
    CHECK(running.ended_by_cancellation());
}

} // namespace cleanup_test

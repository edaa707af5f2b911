#include "client/async/async_event.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <chrono>

namespace async_event_test {

using namespace dockdist;

namespace {

Task<bool> wait(AsyncEvent& event) {
    co_await event.wait();
    co_return true;
}

Task<bool> wait_for_change(AsyncEvent& event) {
    co_await event.wait_for_change();
    co_return true;
}

} // namespace

TEST_CASE("setting an event wakes every waiter") {
    boost::asio::io_context io;
    AsyncEvent event(io.get_executor());
    Cancellable a(io, wait(event));
    Cancellable b(io, wait(event));
    io.poll();
    CHECK_FALSE(a.ended());
    event.set();
    io.poll();
    CHECK(a.ended());
    CHECK(b.ended());
}

TEST_CASE("a notification ends wait_for_change and not wait") {
    boost::asio::io_context io;
    AsyncEvent event(io.get_executor());
    Cancellable until_set(io, wait(event));
    Cancellable until_change(io, wait_for_change(event));
    io.poll();
    event.notify();
    io.poll();
    CHECK_FALSE(until_set.ended());
    CHECK(until_change.ended());
    CHECK(until_change.value());
}

TEST_CASE("a wait for a while tells whether the event was set in it") {
    boost::asio::io_context io;
    AsyncEvent event(io.get_executor());
    CHECK_FALSE(run_task(io, event.wait_at_most(std::chrono::milliseconds(1))));
    boost::asio::post(io, [&] { event.set(); });
    CHECK(run_task(io, event.wait_at_most(std::chrono::hours(1))));
}

TEST_CASE("a waiter for an event can be cancelled") {
    boost::asio::io_context io;
    AsyncEvent event(io.get_executor());
    Cancellable waiting(io, wait(event));
    io.poll();
    waiting.cancel();
    waiting.wait();
    CHECK(waiting.ended_by_cancellation());
}

} // namespace async_event_test

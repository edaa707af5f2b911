#include "client/async/async_event.hpp"
#include "client/async/cleanup.hpp"
#include "client/async/with_timeout.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace with_timeout_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

const Error too_late{ErrorKind::timeout, "a", "too late", ""};

Task<Result<int>> give(int value) {
    co_return value;
}

Task<Result<int>> refuse() {
    co_return Error{ErrorKind::engine, "a", "refused", ""};
}

Task<Result<int>> crash() {
    throw std::runtime_error("a bug");
    co_return 0;
}

Task<Result<int>> wait_for_ever(AsyncEvent& never, bool& ended) {
    struct Mark {
        bool& ended;
        ~Mark() { ended = true; }
    };
    const Mark mark{ended};
    co_await never.wait();
    co_return 1;
}

// Succeeds although it is cancelled.
Task<Result<int>> stubborn(AsyncEvent& never) {
    try {
        co_await never.wait();
    } catch (const boost::system::system_error&) {
        co_return 7;
    }
    co_return 1;
}

} // namespace

TEST_CASE("a task that ends in time gives its result") {
    boost::asio::io_context io;
    CHECK(run_task(io, with_timeout(give(3), 10s, too_late)).value() == 3);
}

TEST_CASE("a task's own error is not a timeout") {
    boost::asio::io_context io;
    CHECK(run_task(io, with_timeout(refuse(), 10s, too_late)).error().message == "refused");
}

TEST_CASE("a task that throws throws through its deadline") {
    boost::asio::io_context io;
    CHECK_THROWS_WITH_AS(run_task(io, with_timeout(crash(), 10s, too_late)), "a bug", std::runtime_error);
}

TEST_CASE("after the deadline the task has ended and the error is the one that was given") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    bool ended = false;
    const auto result = run_task(io, with_timeout(wait_for_ever(never, ended), 1ms, too_late));
    CHECK(result.error() == too_late);
    CHECK(ended);
}

TEST_CASE("a task that succeeds in spite of its deadline has succeeded") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    CHECK(run_task(io, with_timeout(stubborn(never), 1ms, too_late)).value() == 7);
}

TEST_CASE("cancelling the caller is not a timeout") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    bool ended = false;
    Cancellable running(io, with_timeout(wait_for_ever(never, ended), 1h, too_late));
    io.poll();
    running.cancel();
    running.wait();
    CHECK(running.ended_by_cancellation());
    CHECK(ended);
}

} // namespace with_timeout_test

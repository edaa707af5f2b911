#include "client/async/async_event.hpp"
#include "client/async/cleanup.hpp"
#include "client/async/run_all.hpp"
#include "client/async/run_until_first.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace run_all_test {

using namespace dockdist;

namespace {

Task<int> wait_then(AsyncEvent& gate, int value, std::vector<int>& order) {
    co_await gate.wait();
    order.push_back(value);
    co_return value;
}

Task<int> set_then(AsyncEvent& gate, int value, std::vector<int>& order) {
    order.push_back(value);
    gate.set();
    co_return value;
}

Task<int> fail_with(std::string message) {
    throw std::runtime_error(message);
    co_return 0;
}

// Waits for ever; when cancelled, cleans up, which takes until `cleaned_up` is set.
Task<int> slow_to_end(AsyncEvent& never, AsyncEvent& cleaned_up, int& ended) {
    std::exception_ptr cancelled;
    try {
        co_await never.wait();
    } catch (...) {
        cancelled = std::current_exception();
    }
    co_await uncancellable();
    co_await cleaned_up.wait();
    ++ended;
    std::rethrow_exception(cancelled);
}

Task<std::unique_ptr<int>> made(int value) {
    co_return std::make_unique<int>(value);
}

template <class T, class... Tasks>
std::vector<Task<T>> tasks(Tasks... several) {
    std::vector<Task<T>> list;
    (list.push_back(std::move(several)), ...);
    return list;
}

} // namespace

TEST_CASE("run_all of nothing ends at once") {
    boost::asio::io_context io;
    CHECK(run_task(io, run_all(std::vector<Task<int>>())).empty());
}

TEST_CASE("run_all gives results in the tasks' order, whichever ends first") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    std::vector<int> order;
    const auto results =
        run_task(io, run_all(tasks<int>(wait_then(gate, 1, order), set_then(gate, 2, order))));
    CHECK(order == std::vector<int>{2, 1}); // and so they ran side by side
    CHECK(results == std::vector<int>{1, 2});
}

TEST_CASE("run_all moves results that cannot be copied") {
    boost::asio::io_context io;
    const auto results = run_task(io, run_all(tasks<std::unique_ptr<int>>(made(1), made(2))));
    CHECK(*results.at(1) == 2);
}

TEST_CASE("run_all lets the others end when one throws, then throws the first one's exception") {
    boost::asio::io_context io;
    AsyncEvent gate(io.get_executor());
    std::vector<int> order;
    CHECK_THROWS_WITH_AS(
        run_task(io, run_all(tasks<int>(fail_with("first"), fail_with("second"), wait_then(gate, 3, order),
                                        set_then(gate, 4, order)))),
        "first", std::runtime_error);
    CHECK(order == std::vector<int>{4, 3});
}

TEST_CASE("run_all that is cancelled waits until every task has cleaned up") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    AsyncEvent cleaned_up(io.get_executor());
    int ended = 0;
    Cancellable running(io, run_all(tasks<int>(slow_to_end(never, cleaned_up, ended),
                                               slow_to_end(never, cleaned_up, ended))));
    io.poll();
    running.cancel();
    io.poll();
    CHECK_FALSE(running.ended());
    running.cancel(); // again: changes nothing
    io.poll();
    CHECK_FALSE(running.ended());
    cleaned_up.set();
    running.wait();
    CHECK(ended == 2);
    CHECK(running.ended_by_cancellation());
}

TEST_CASE("run_until_first cancels the others, and waits until they have cleaned up") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    AsyncEvent cleaned_up(io.get_executor());
    AsyncEvent gate(io.get_executor());
    int ended = 0;
    std::vector<int> order;
    Cancellable running(
        io, run_until_first(tasks<int>(slow_to_end(never, cleaned_up, ended), wait_then(gate, 7, order),
                                       slow_to_end(never, cleaned_up, ended))));
    io.poll();
    gate.set();
    io.restart();
    io.poll();
    CHECK(order == std::vector<int>{7});
    CHECK_FALSE(running.ended());
    cleaned_up.set();
    running.wait();
    CHECK(running.value() == std::vector<std::optional<int>>{std::nullopt, 7, std::nullopt});
    CHECK(ended == 2);
}

TEST_CASE("run_until_first with one that ends at once") {
    boost::asio::io_context io;
    AsyncEvent never(io.get_executor());
    AsyncEvent gate(io.get_executor());
    std::vector<int> order;
    CHECK(run_task(io, run_until_first(tasks<int>(set_then(gate, 1, order), wait_then(never, 2, order)))) ==
          std::vector<std::optional<int>>{1, std::nullopt});
    CHECK_THROWS_WITH_AS(
        run_task(io, run_until_first(tasks<int>(fail_with("first"), set_then(gate, 2, order)))), "first",
        std::runtime_error);
    CHECK(run_task(io, run_until_first(std::vector<Task<int>>())).empty());
}

TEST_CASE("run_all may be destroyed with its io_context in the middle") {
    auto io = std::make_unique<boost::asio::io_context>();
    auto never = std::make_unique<AsyncEvent>(io->get_executor());
    std::vector<int> order;
    Cancellable running(*io, run_all(tasks<int>(wait_then(*never, 1, order), wait_then(*never, 2, order))));
    io->poll();
    never.reset();
    io.reset();
    CHECK(order.empty());
}

} // namespace run_all_test

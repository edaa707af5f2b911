// Runs a coroutine in a test.
#pragma once

#include "client/async/task.hpp"
#include "patience.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

namespace dockdist {

// Runs `io` until `task` has ended, and then whatever is ready to run. Throws what the task throws; a task
// that does not end in time fails the test instead of hanging it.
template <class T>
T run_task(boost::asio::io_context& io, Task<T> task) {
    struct Outcome {
        std::optional<T> value{};
        std::exception_ptr exception{};
    };
    const auto outcome =
        std::make_shared<Outcome>(); // the handler may outlive this call, when it throws below
    boost::asio::co_spawn(io, std::move(task), [outcome](std::exception_ptr thrown, T result) {
        outcome->exception = thrown;
        if (!thrown) {
            outcome->value.emplace(std::move(result));
        }
    });
    const auto limit = patience_ends(std::chrono::seconds(60));
    io.restart();
    while (!outcome->exception && !outcome->value) {
        if (io.run_one_until(limit) == 0) {
            throw std::logic_error("the task waits for something that does not come");
        }
    }
    io.poll();
    if (outcome->exception) {
        std::rethrow_exception(outcome->exception);
    }
    return std::move(*outcome->value);
}

inline void run_task(boost::asio::io_context& io, Task<void> task) {
    const auto with_value = [](Task<void> inner) -> Task<bool> {
        co_await std::move(inner);
        co_return true;
    };
    (void)run_task(io, with_value(std::move(task)));
}

} // namespace dockdist

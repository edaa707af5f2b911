// A coroutine that a test starts and may cancel.
#pragma once

#include "client/async/children.hpp"
#include "client/async/task.hpp"
#include "patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

namespace dockdist {

// Runs `io` until `condition` holds; a condition that does not come true in time fails the test.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& condition) {
    const auto limit = patience_ends();
    io.restart();
    while (!condition()) {
        if (io.run_one_until(limit) == 0) {
            throw std::logic_error("what the test waits for does not come");
        }
    }
}

template <class T>
class Cancellable {
public:
    Cancellable(boost::asio::io_context& io, Task<T> task) : io_(io) {
        boost::asio::co_spawn(
            io, std::move(task),
            boost::asio::bind_cancellation_slot(
                signal_->slot(), [outcome = outcome_, signal = signal_](std::exception_ptr thrown, T result) {
                    outcome->ended = true;
                    outcome->exception = thrown;
                    if (!thrown) {
                        outcome->value.emplace(std::move(result));
                    }
                }));
    }

    void cancel() { signal_->emit(boost::asio::cancellation_type::terminal); }
    bool ended() const { return outcome_->ended; }
    void wait() {
        run_until(io_, [this] { return ended(); });
    }
    bool ended_by_cancellation() const { return detail::is_cancellation(outcome_->exception); }
    T& value() { return outcome_->value.value(); }

private:
    struct Outcome {
        bool ended = false;
        std::exception_ptr exception{};
        std::optional<T> value{};
    };
    boost::asio::io_context& io_;
    std::shared_ptr<Outcome> outcome_ = std::make_shared<Outcome>();
    std::shared_ptr<boost::asio::cancellation_signal> signal_ =
        std::make_shared<boost::asio::cancellation_signal>();
};

} // namespace dockdist

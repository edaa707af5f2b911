// Something that coroutines of the one thread wait for: a flag that wakes every waiter when it is set.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace dockdist {

class AsyncEvent {
public:
    explicit AsyncEvent(const boost::asio::any_io_executor& executor);

    bool is_set() const { return set_; }
    // Every waiter goes on, and later ones do not wait until reset().
    void set();
    void reset() { set_ = false; }
    // Wakes those who wait now, without setting the flag: they look at the world again.
    void notify();

    // Until set. Cancellation throws.
    Task<void> wait();
    // The same for a while only; whether it is set then.
    Task<bool> wait_at_most(std::chrono::steady_clock::duration limit);
    // Until set or notified. Cancellation throws.
    Task<void> wait_for_change();

private:
    boost::asio::steady_timer never_;
    bool set_ = false;
};

} // namespace dockdist

// Doing nothing for a while.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace dockdist {

// Cancellation throws.
inline Task<void> pause_for(std::chrono::steady_clock::duration time) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
    co_await timer.async_wait(boost::asio::use_awaitable);
}

} // namespace dockdist

// Tells an operation that was aborted because its coroutine was cancelled from one that somebody else
// aborted.
#pragma once

#include "client/async/children.hpp"
#include "client/async/task.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace dockdist {

// Throws when `error` is the cancellation of this coroutine; an abort by close() stays an error.
inline Task<void> throw_if_cancelled(boost::system::error_code error) {
    if (error == boost::asio::error::operation_aborted) {
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none) {
            detail::throw_cancelled();
        }
    }
}

} // namespace dockdist

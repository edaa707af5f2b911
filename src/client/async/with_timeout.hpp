// A deadline for a task.
#pragma once

#include "client/async/children.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace dockdist {

// The task's result; or, when it has none after `limit`, `on_timeout`, after the task was cancelled and has
// ended. A task that succeeds in spite of its cancellation has succeeded.
template <class T>
Task<Result<T>> with_timeout(Task<Result<T>> task, std::chrono::steady_clock::duration limit,
                             Error on_timeout) {
    const auto executor = co_await boost::asio::this_coro::executor;
    std::optional<Result<T>> value;
    detail::Children child(executor);
    boost::asio::steady_timer deadline(executor, limit);
    child.start(detail::store(std::move(task), value));
    // The handler may still be queued when this coroutine has ended: it owns what it touches.
    const auto expired = std::make_shared<bool>(false);
    deadline.async_wait([child, expired](boost::system::error_code error) mutable {
        if (!error) {
            *expired = true;
            child.cancel();
        }
    });
    const bool cancelled = co_await child.join(detail::Children::OnCancel::forward);
    deadline.cancel();
    if (cancelled) {
        detail::throw_cancelled();
    }
    if (const auto exception = child.exception(0)) {
        if (*expired && detail::is_cancellation(exception)) {
            co_return on_timeout;
        }
        std::rethrow_exception(exception);
    }
    if (*expired && value->has_error()) {
        co_return on_timeout;
    }
    co_return std::move(*value);
}

} // namespace dockdist

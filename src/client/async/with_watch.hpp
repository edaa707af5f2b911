// A task that runs as long as something else finds all in order.
#pragma once

#include "client/async/children.hpp"

#include <boost/asio/this_coro.hpp>

namespace dockdist {

namespace detail {

inline Task<void> cancel_after(Task<Error> watch, std::optional<Error>& found, Children task) {
    found.emplace(co_await std::move(watch));
    task.cancel();
}

} // namespace detail

// The task's result, and `watch` is cancelled; or the error that `watch` ends with, after the task was
// cancelled and has ended. A task that succeeds in spite of its cancellation has succeeded.
template <class T>
Task<Result<T>> with_watch(Task<Result<T>> task, Task<Error> watch) {
    const auto executor = co_await boost::asio::this_coro::executor;
    std::optional<Result<T>> value;
    std::optional<Error> found;
    detail::Children child(executor);
    detail::Children watcher(executor);
    child.start(detail::store(std::move(task), value));
    watcher.start(detail::cancel_after(std::move(watch), found, child));
    const bool cancelled = co_await child.join(detail::Children::OnCancel::forward);
    watcher.cancel();
    const bool also = co_await watcher.join(detail::Children::OnCancel::ignore);
    if (cancelled || also) {
        detail::throw_cancelled();
    }
    if (const auto exception = child.exception(0)) {
        if (found && detail::is_cancellation(exception)) {
            co_return *found;
        }
        std::rethrow_exception(exception);
    }
    if (const auto exception = watcher.exception(0); exception && !detail::is_cancellation(exception)) {
        std::rethrow_exception(exception);
    }
    if (found && value->has_error()) {
        co_return *found;
    }
    co_return std::move(*value);
}

} // namespace dockdist

// Clean-up that runs although cancellation was asked for.
//
// Once a coroutine was cancelled, each later co_await in it throws. So clean-up after a caught cancellation
// begins with
//     co_await uncancellable();
// which is the one co_await that does not; from then on the coroutine cannot be cancelled.
#pragma once

#include "client/async/children.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <functional>

namespace dockdist {

inline auto uncancellable() {
    return boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

// Runs `task` to its end; a cancellation in the meantime is thrown only then (and the task's result is lost).
template <class T>
Task<T> shielded(Task<T> task) {
    std::optional<T> value;
    detail::Children child(co_await boost::asio::this_coro::executor);
    child.start(detail::store(std::move(task), value));
    const bool cancelled = co_await child.join(detail::Children::OnCancel::ignore);
    if (const auto exception = child.exception(0)) {
        std::rethrow_exception(exception);
    }
    if (cancelled) {
        detail::throw_cancelled();
    }
    co_return std::move(*value);
}

// Runs `work`, then `clean_up` whether `work` returned, threw or was cancelled; `clean_up` itself cannot be
// cancelled. An exception of `work` goes on afterwards.
template <class T>
Task<T> with_cleanup(Task<T> work, std::function<Task<void>()> clean_up) {
    const auto executor = co_await boost::asio::this_coro::executor;
    std::optional<T> value;
    detail::Children worker(executor);
    worker.start(detail::store(std::move(work), value));
    bool cancelled = co_await worker.join(detail::Children::OnCancel::forward);
    detail::Children cleaner(executor);
    cleaner.start(clean_up());
    cancelled = co_await cleaner.join(detail::Children::OnCancel::ignore) || cancelled;
    if (const auto exception = cleaner.exception(0)) {
        std::rethrow_exception(exception);
    }
    if (const auto exception = worker.exception(0)) {
        std::rethrow_exception(exception);
    }
    if (cancelled) {
        detail::throw_cancelled();
    }
    co_return std::move(*value);
}

} // namespace dockdist

// Side by side, until the first has come to its end.
#pragma once

#include "client/async/children.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <vector>

namespace dockdist {

namespace detail {

template <class T>
Task<void> store_and_end(Task<T> task, std::optional<T>& value, Children all) {
    value.emplace(co_await std::move(task));
    // Not at once: this one is to have ended, and those behind it to have begun.
    boost::asio::post(co_await boost::asio::this_coro::executor, [all]() mutable { all.cancel(); });
}

} // namespace detail

// The tasks' results in the tasks' order; the others are cancelled once one has a result, and have none,
// unless they come to one meanwhile. All have ended then. When the caller is cancelled, or a task throws, as
// run_all.
template <class T>
Task<std::vector<std::optional<T>>> run_until_first(std::vector<Task<T>> tasks) {
    std::vector<std::optional<T>> values(tasks.size());
    detail::Children children(co_await boost::asio::this_coro::executor);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        children.start(detail::store_and_end(std::move(tasks[i]), values[i], children));
    }
    if (co_await children.join(detail::Children::OnCancel::forward)) {
        detail::throw_cancelled();
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (const auto exception = children.exception(i); exception && !detail::is_cancellation(exception)) {
            std::rethrow_exception(exception);
        }
    }
    co_return values;
}

} // namespace dockdist

// Side by side: every task runs to its end, whatever becomes of the others.
#pragma once

#include "client/async/children.hpp"

#include <boost/asio/this_coro.hpp>

#include <vector>

namespace dockdist {

// The tasks' results in the tasks' order. When the caller is cancelled, every task is, all are waited for,
// and then cancellation is thrown. When a task throws, the others still run to their end; then the first
// one's exception is thrown.
template <class T>
Task<std::vector<T>> run_all(std::vector<Task<T>> tasks) {
    std::vector<std::optional<T>> values(tasks.size());
    detail::Children children(co_await boost::asio::this_coro::executor);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        children.start(detail::store(std::move(tasks[i]), values[i]));
    }
    const bool cancelled = co_await children.join(detail::Children::OnCancel::forward);
    if (cancelled) {
        detail::throw_cancelled();
    }
    std::vector<T> results;
    results.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (const auto exception = children.exception(i)) {
            std::rethrow_exception(exception);
        }
        results.push_back(std::move(*values[i]));
    }
    co_return results;
}

} // namespace dockdist

// Work that blocks, on a thread of its own, while the program's one thread goes on.
#pragma once

#include "async/async_event.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace dockdist {

// What `work` gives. It is to look at its argument now and then, and to end when that is true: the caller was
// cancelled, and waits for the thread.
template <class T>
Task<T> on_thread(std::function<T(const std::atomic<bool>& stop)> work) {
    struct Shared {
        explicit Shared(const boost::asio::any_io_executor& executor) : done(executor) {}
        AsyncEvent done;
        std::optional<T> result{};
        std::atomic<bool> stop = false;
    };
    const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
    const auto shared = std::make_shared<Shared>(executor);
    const std::jthread thread([executor, shared, work = std::move(work)] {
        auto result = work(shared->stop);
        boost::asio::post(executor, [shared, result = std::move(result)]() mutable {
            shared->result = std::move(result);
            shared->done.set();
        });
    });
    struct Stop { // before the thread is joined
        std::shared_ptr<Shared> shared;
        ~Stop() { shared->stop = true; }
    };
    const Stop stop{shared};
    co_await shared->done.wait();
    co_return std::move(*shared->result);
}

} // namespace dockdist

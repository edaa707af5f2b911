// Work that blocks, on a thread of its own, for a coroutine that goes on when it is done.
#pragma once

#include "client/async/async_event.hpp"
#include "client/async/task.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace dockdist {

// `work` is asked to end by `stop` where the coroutine is cancelled, which then waits for it.
template <class T>
Task<T> run_aside(std::function<T(const std::atomic<bool>& stop)> work) {
    struct Shared { // but for `stop` the coroutine's executor has it
        explicit Shared(const boost::asio::any_io_executor& executor) : done(executor) {}
        AsyncEvent done;
        std::optional<T> result{};
        std::atomic<bool> stop = false;
    };
    struct End {
        std::shared_ptr<Shared> shared;
        std::thread thread;
        ~End() {
            shared->stop = true;
            thread.join();
        }
    };
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto shared = std::make_shared<Shared>(executor);
    const End end{shared, std::thread([executor, shared, work = std::move(work)] {
                      boost::asio::post(executor, [shared, result = work(shared->stop)]() mutable {
                          shared->result.emplace(std::move(result));
                          shared->done.set();
                      });
                  })};
    co_await shared->done.wait();
    co_return std::move(*shared->result);
}

} // namespace dockdist

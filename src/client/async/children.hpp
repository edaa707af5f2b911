// What run_all, with_timeout and shielded are made of: coroutines that run beside their parent, each with its
// own cancellation signal, and a parent that never goes on before all of them have ended.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace dockdist::detail {

class Children {
public:
    explicit Children(const boost::asio::any_io_executor& executor);

    // Starts `task` at once, up to its first suspension. What it refers to must live until join() has
    // returned.
    void start(Task<void> task);
    // Asks every child to end. They may take their time.
    void cancel();

    enum class OnCancel { forward, ignore };
    // Waits until every child has ended, whatever happens. Returns whether the parent was cancelled in the
    // meantime; the parent's cancellation state is fresh afterwards, so the caller has to act on the answer.
    Task<bool> join(OnCancel on_cancel);

    // What child `index` (in order of start) ended with; null when it returned.
    std::exception_ptr exception(std::size_t index) const { return shared_->children.at(index).exception; }

private:
    struct Child {
        boost::asio::cancellation_signal signal{};
        std::exception_ptr exception{};
    };
    struct Shared { // children keep it alive, also when the parent is destroyed with its io_context
        explicit Shared(const boost::asio::any_io_executor& executor)
            : ended(executor, boost::asio::steady_timer::time_point::max()) {}
        boost::asio::steady_timer ended;
        std::deque<Child> children{}; // stable addresses
        std::size_t running = 0;
    };
    std::shared_ptr<Shared> shared_;
};

template <class T>
Task<void> store(Task<T> task, std::optional<T>& value) {
    value.emplace(co_await std::move(task));
}

[[noreturn]] void throw_cancelled();
bool is_cancellation(const std::exception_ptr& exception);

} // namespace dockdist::detail

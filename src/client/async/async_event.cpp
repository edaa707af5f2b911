#include "client/async/async_event.hpp"

#include "client/async/with_timeout.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace dockdist {
namespace {

Task<Status> until_set(AsyncEvent& event) {
    co_await event.wait();
    co_return ok;
}

} // namespace

AsyncEvent::AsyncEvent(const boost::asio::any_io_executor& executor)
    : never_(executor, boost::asio::steady_timer::time_point::max()) {}

void AsyncEvent::set() {
    set_ = true;
    never_.cancel();
}

void AsyncEvent::notify() {
    never_.cancel();
}

Task<void> AsyncEvent::wait() {
    while (!set_) {
        co_await wait_for_change();
    }
}

Task<bool> AsyncEvent::wait_at_most(std::chrono::steady_clock::duration limit) {
    co_await with_timeout(until_set(*this), limit, Error{.kind = ErrorKind::timeout});
    co_return set_;
}

Task<void> AsyncEvent::wait_for_change() {
    if (set_) {
        co_return;
    }
    // A notification and a cancellation both end the wait with operation_aborted; the coroutine's own state
    // tells them apart.
    co_await never_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none &&
        co_await boost::asio::this_coro::throw_if_cancelled()) {
        throw boost::system::system_error(boost::asio::error::operation_aborted);
    }
}

} // namespace dockdist

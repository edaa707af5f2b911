#include "client/async/children.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace dockdist::detail {

namespace asio = boost::asio;

Children::Children(const asio::any_io_executor& executor) : shared_(std::make_shared<Shared>(executor)) {}

void Children::start(Task<void> task) {
    Child& child = shared_->children.emplace_back();
    ++shared_->running;
    asio::co_spawn(shared_->ended.get_executor(), std::move(task),
                   asio::bind_cancellation_slot(child.signal.slot(),
                                                [shared = shared_, &child](std::exception_ptr exception) {
                                                    child.exception = std::move(exception);
                                                    if (--shared->running == 0) {
                                                        shared->ended.cancel();
                                                    }
                                                }));
}

void Children::cancel() {
    for (Child& child : shared_->children) {
        child.signal.emit(asio::cancellation_type::terminal);
    }
}

Task<bool> Children::join(OnCancel on_cancel) {
    const auto shared = shared_;
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    bool cancelled = false;
    while (shared->running > 0) {
        const auto state = co_await asio::this_coro::cancellation_state;
        if (!cancelled && state.cancelled() != asio::cancellation_type::none) {
            cancelled = true;
            // A wait that starts in a cancelled state is not woken by that cancellation again, but a second
            // signal must not wake it either.
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            if (on_cancel == OnCancel::forward) {
                cancel();
                continue;
            }
        }
        co_await shared->ended.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    const auto state = co_await asio::this_coro::cancellation_state;
    cancelled = cancelled || state.cancelled() != asio::cancellation_type::none;
    if (cancelled) {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return cancelled;
}

void throw_cancelled() {
    throw boost::system::system_error(asio::error::operation_aborted);
}

bool is_cancellation(const std::exception_ptr& exception) {
    if (!exception) {
        return false;
    }
    try {
        std::rethrow_exception(exception);
    } catch (const boost::system::system_error& error) {
        return error.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

} // namespace dockdist::detail

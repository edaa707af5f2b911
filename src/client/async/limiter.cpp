#include "client/async/limiter.hpp"

namespace dockdist {

Limiter::Limiter(const boost::asio::any_io_executor& executor, std::size_t places)
    : state_(std::make_shared<State>(State{executor, places})) {}

void Limiter::Permit::release() {
    const auto state = std::exchange(state_, nullptr);
    if (!state) {
        return;
    }
    if (state->waiting.empty()) {
        ++state->free;
        return;
    }
    const auto next = state->waiting.front(); // the place goes to it directly: nobody can come between
    state->waiting.pop_front();
    next->called.set();
}

Task<Limiter::Permit> Limiter::acquire() {
    return wait_for_place(state_);
}

Task<Limiter::Permit> Limiter::wait_for_place(std::shared_ptr<State> state) {
    if (state->free > 0) {
        --state->free;
        co_return Permit(state);
    }
    const auto waiter = std::make_shared<Waiter>(state->executor);
    state->waiting.push_back(waiter);
    struct Leave { // of the queue, or, when the place came at the same moment, of the place
        std::shared_ptr<State> state;
        std::shared_ptr<Waiter> waiter;
        bool taken = false;
        ~Leave() {
            if (!taken) {
                if (waiter->called.is_set()) {
                    Permit(state).release();
                } else {
                    state->waiting.remove(waiter);
                }
            }
        }
    };
    Leave leave{state, waiter};
    co_await waiter->called.wait();
    leave.taken = true;
    co_return Permit(state);
}

} // namespace dockdist

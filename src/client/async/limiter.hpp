// At most so many at a time: handshakes in flight, uploads.
#pragma once

#include "client/async/async_event.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <utility>

namespace dockdist {

class Limiter {
    struct State;

public:
    // One place; given back when it is destroyed. May outlive the Limiter.
    class Permit {
    public:
        Permit() = default;
        Permit(Permit&&) noexcept = default;
        Permit& operator=(Permit&& other) noexcept {
            release();
            state_ = std::move(other.state_);
            return *this;
        }
        Permit(const Permit&) = delete;
        Permit& operator=(const Permit&) = delete;
        ~Permit() { release(); }
        void release();

    private:
        friend class Limiter;
        explicit Permit(std::shared_ptr<State> state) : state_(std::move(state)) {}
        std::shared_ptr<State> state_{};
    };

    Limiter(const boost::asio::any_io_executor& executor, std::size_t places);

    // Waits for a place, first come, first served. Cancellation throws and leaves the queue.
    Task<Permit> acquire();

private:
    struct Waiter {
        explicit Waiter(const boost::asio::any_io_executor& executor) : called(executor) {}
        AsyncEvent called;
    };
    struct State {
        boost::asio::any_io_executor executor;
        std::size_t free = 0;
        std::list<std::shared_ptr<Waiter>> waiting{};
    };
    static Task<Permit> wait_for_place(std::shared_ptr<State> state);

    std::shared_ptr<State> state_;
};

} // namespace dockdist

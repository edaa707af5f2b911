// Work of which one run at a time serves all who want its result: a login, a question about a host.
#pragma once

#include "client/async/async_event.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace dockdist {

template <class T>
class SharedRun {
public:
    explicit SharedRun(const boost::asio::any_io_executor& executor)
        : state_(std::make_shared<State>(State{executor})) {}

    // The result of the run that is under way, or, when there is none, of `work`. When the caller whose work
    // it is gets cancelled, one of those who wait starts its own.
    Task<T> join(std::function<Task<T>()> work) const { return join(state_, std::move(work)); }

private:
    struct Run {
        explicit Run(const boost::asio::any_io_executor& executor) : ended(executor) {}
        AsyncEvent ended;
        std::optional<T> result{};
    };
    struct State {
        boost::asio::any_io_executor executor;
        std::shared_ptr<Run> running{};
    };

    static Task<T> join(std::shared_ptr<State> state, std::function<Task<T>()> work) {
        while (state->running) {
            const auto running = state->running;
            co_await running->ended.wait();
            if (running->result) {
                co_return *running->result;
            }
        }
        const auto own = std::make_shared<Run>(state->executor);
        state->running = own;
        struct End {
            std::shared_ptr<State> state;
            std::shared_ptr<Run> run;
            ~End() {
                state->running.reset();
                run->ended.set();
            }
        };
        const End end{state, own};
        own->result = co_await work();
        co_return *own->result;
    }

    std::shared_ptr<State> state_;
};

} // namespace dockdist

#include "forward/forwarder.hpp"

#include "async/cleanup.hpp"
#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "async/throw_if_cancelled.hpp"
#include "async/with_watch.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fcntl.h>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

constexpr std::chrono::milliseconds first_pause = 500ms;
constexpr std::chrono::milliseconds longest_pause = 10s;
constexpr std::chrono::milliseconds accept_pause = 200ms; // when this process may have no more descriptors

} // namespace

Forwarder::Forwarder(const boost::asio::any_io_executor& executor, NodeName node,
                     std::vector<LocalPort> ports, NodeDoor door,
                     std::function<Task<Result<NodeDoor>>()> find, Reporter& reporter)
    : executor_(executor), node_(std::move(node)), ports_(std::move(ports)), told_(ports_.size()),
      door_(std::move(door)), find_(std::move(find)), reporter_(reporter), changed_(executor),
      idle_(executor) {}

Task<Error> Forwarder::run(std::function<void()> on_ready) {
    co_return co_await with_cleanup(work(std::move(on_ready)), [this] { return close_all(); });
}

Task<Error> Forwarder::work(std::function<void()> on_ready) {
    const auto ended = co_await with_watch(keep_up(std::move(on_ready)), accept_all());
    co_return ended ? Error{} : ended.error();
}

Task<void> Forwarder::close_all() {
    closing_ = true;
    for (auto& port : ports_) {
        port.acceptors.clear();
    }
    if (tunnel_) {
        tunnel_->give_up_all();
    }
    changed_.notify();
    while (carried_ > 0) {
        co_await idle_.wait_for_change();
    }
}

Task<Status> Forwarder::keep_up(std::function<void()> on_ready) {
    auto pause = first_pause;
    bool was_ready = false;
    while (true) {
        Result<NodeDoor> door = door_;
        if (was_ready) {
            door = co_await find_();
        }
        Error why = door ? Error{} : door.error();
        std::size_t connections = 0;
        if (door) {
            const auto tunnel = std::make_shared<TunnelClient>(executor_);
            tunnel_ = tunnel;
            std::optional<std::chrono::steady_clock::time_point> since;
            why = co_await tunnel->run(*door->engine, door->id, [&] {
                if (was_ready) {
                    reporter_.on(
                        {.kind = Event::Kind::note, .subject = node_.str(), .text = "forwarding again"});
                    told_lost_.clear();
                } else {
                    on_ready();
                }
                was_ready = true;
                since = std::chrono::steady_clock::now();
                changed_.notify();
            });
            connections = tunnel->closed();
            if (since && std::chrono::steady_clock::now() - *since >= longest_pause) {
                pause = first_pause; // one that comes and goes is asked less and less often
            }
        }
        if (!was_ready) {
            co_return why;
        }
        ++tries_;
        changed_.notify();
        tell_lost(why, connections);
        co_await pause_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
}

Task<Error> Forwarder::accept_all() {
    std::vector<Task<Status>> tasks;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        for (auto& acceptor : ports_[i].acceptors) {
            tasks.push_back(accept(i, acceptor));
        }
    }
    const auto ended = co_await run_all(std::move(tasks));
    co_return ended.front().error();
}

Task<Status> Forwarder::accept(std::size_t port, tcp::acceptor& acceptor) {
    while (true) {
        auto [error, socket] =
            co_await acceptor.async_accept(boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_await pause_for(accept_pause);
            continue;
        }
        ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
        ++carried_;
        boost::asio::co_spawn(executor_, carry(port, std::move(socket)), [this](std::exception_ptr thrown) {
            --carried_;
            idle_.notify();
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        });
    }
}

// Who comes while there is no tunnel waits for the next one, but not for longer than one try.
Task<void> Forwarder::carry(std::size_t port, tcp::socket socket) {
    const auto tries = tries_;
    while (!closing_ && tries_ == tries && !(tunnel_ && tunnel_->ready())) {
        co_await changed_.wait_for_change();
    }
    if (!closing_ && tunnel_ && tunnel_->ready()) {
        const auto tunnel = tunnel_;
        co_await tunnel->carry(std::move(socket), ports_[port].target,
                               [this, port](const auto& failure) { tell_answer(port, failure); });
    }
}

void Forwarder::tell_answer(std::size_t port, const std::optional<wire::TunnelFailure>& failure) {
    if (!failure) {
        told_[port].reset();
    } else if (told_[port] != failure->kind) { // a browser tries again and again
        told_[port] = failure->kind;
        reporter_.on({.kind = Event::Kind::warning,
                      .text = fmt::format("port {}: {}", ports_[port].number,
                                          failure_text(*failure, ports_[port].target, node_.str()))});
    }
}

void Forwarder::tell_lost(const Error& why, std::size_t connections) {
    if (why.message == std::exchange(told_lost_, why.message)) {
        return;
    }
    auto warning = why;
    warning.where = node_.str();
    warning.message =
        fmt::format("{}{}; the ports stay, and are forwarded again once it is there", why.message,
                    connections == 0 ? ""
                                     : fmt::format(" ({} open connection{} closed)", connections,
                                                   connections == 1 ? " was" : "s were"));
    reporter_.on(warning_event(warning));
}

} // namespace dockdist

#include "client/forward/forwarder.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_watch.hpp"
#include "client/forward/node_tunnel.hpp"

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

Forwarder::Forwarder(const boost::asio::any_io_executor& executor, ForwardGoal goal,
                     std::vector<LocalPort> ports, Reporter& reporter)
    : executor_(executor), goal_(std::move(goal)), ports_(std::move(ports)), told_(ports_.size()),
      reporter_(reporter), changed_(executor), moved_(executor), idle_(executor) {
    idle_.set();
}

Task<Error> Forwarder::run(std::function<void()> on_ready, FirstTry first) {
    co_return co_await with_cleanup(work(std::move(on_ready), first), [this] { return close_all(); });
}

Task<Error> Forwarder::work(std::function<void()> on_ready, FirstTry first) {
    for (auto& port : ports_) {
        CO_TRY(listen_on(port));
    }
    const auto ended = co_await with_watch(keep_up(std::move(on_ready), first), accept_all());
    co_return ended ? Error{} : ended.error();
}

void Forwarder::lead_to(ForwardGoal goal) {
    goal_ = std::move(goal);
    was_tried_ = was_ready_ = false;
    told_.assign(ports_.size(), std::nullopt);
    told_lost_.clear();
    moved_.set();
}

Task<Error> Forwarder::wait_until_moved() {
    co_await moved_.wait();
    co_return Error{};
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
    co_await idle_.wait();
}

Task<void> Forwarder::drain(std::chrono::milliseconds limit) {
    (void)co_await idle_.wait_at_most(limit);
}

Task<Status> Forwarder::keep_up(std::function<void()> on_ready, FirstTry first) {
    auto pause = first_pause;
    while (true) {
        moved_.reset();
        Try made;
        const auto ended = co_await with_watch(try_once(on_ready, made), wait_until_moved());
        if (!moved_.is_set()) {
            const auto& why = ended.error();
            if (!was_ready_ && (first == FirstTry::decides || why.kind == ErrorKind::protocol)) {
                co_return why;
            }
            tries_ += made.stood ? 0 : 1; // who comes right after a loss waits for the next
            changed_.notify();
            tell_lost(why, made.connections);
            pause = made.lasted ? first_pause : pause; // one that comes and goes is asked less and less often
            co_await moved_.wait_at_most(pause);
        }
        pause = moved_.is_set() ? first_pause : std::min(pause * 2, longest_pause);
    }
}

// Always an error: why there is no tunnel, or none any more.
Task<Status> Forwarder::try_once(const std::function<void()>& on_ready, Try& made) {
    Result<NodePlace> place = goal_.place;
    if (std::exchange(was_tried_, true)) {
        const auto find = goal_.find; // the goal may be another one before it has found
        place = co_await find();
    }
    CO_TRY(place);
    const auto tunnel = std::make_shared<TunnelClient>(executor_);
    tunnel_ = tunnel;
    std::optional<std::chrono::steady_clock::time_point> since;
    auto why = co_await run_node_tunnel(tunnel, *place->engine, place->id, [&] {
        if (std::exchange(was_ready_, true)) {
            reporter_.on({.kind = Event::Kind::note, .subject = node().str(), .text = "forwarding again"});
        } else {
            on_ready();
        }
        told_lost_.clear();
        since = std::chrono::steady_clock::now();
        changed_.notify();
    });
    made.stood = since.has_value();
    made.connections = tunnel->closed();
    made.lasted = since && std::chrono::steady_clock::now() - *since >= longest_pause;
    co_return why;
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
        idle_.reset();
        boost::asio::co_spawn(executor_, carry(port, std::move(socket)), [this](std::exception_ptr thrown) {
            if (--carried_ == 0) {
                idle_.set();
            }
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
                                          failure_text(*failure, ports_[port].target, node().str()))});
    }
}

void Forwarder::tell_lost(const Error& why, std::size_t connections) {
    if (why.message == std::exchange(told_lost_, why.message)) {
        return;
    }
    auto warning = at_node(why, node());
    warning.message =
        fmt::format("{}{}; the ports stay, and are forwarded {}once it is there", warning.message,
                    connections == 0 ? ""
                                     : fmt::format(" ({} open connection{} closed)", connections,
                                                   connections == 1 ? " was" : "s were"),
                    was_ready_ ? "again " : "");
    reporter_.on(warning_event(warning));
}

Error at_node(Error error, const NodeName& node) {
    const auto& where = error.where; // "node-0 (tcp://10.0.0.2:2375)" names it already
    if (where != node.str() && !where.starts_with(node.str() + " ")) {
        error.message = where.empty() ? error.message : where + ": " + error.message;
        error.where = node.str();
    }
    return error;
}

} // namespace dockdist

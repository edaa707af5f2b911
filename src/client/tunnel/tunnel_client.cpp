#include "client/tunnel/tunnel_client.hpp"

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_watch.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr auto tunnel_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr std::size_t largest_piece = 256U << 10U; // of one read of a connection
constexpr std::size_t most_unsent = 1U
                                    << 20U; // that waits for the engine, before connections are read no more
constexpr std::size_t most_unpinged = 128U << 10U; // a slow way needs its time for what stands before a ping
constexpr std::size_t longest_complaint = 8U << 10U;

bool would_block(const error_code& error) {
    return error == boost::asio::error::would_block || error == boost::asio::error::interrupted;
}

} // namespace

TunnelClient::TunnelClient(const boost::asio::any_io_executor& executor, TunnelTimes times)
    : executor_(executor), times_(times), to_send_(executor), sent_(executor), buffer_(largest_piece) {}

Task<Status> TunnelClient::run(ExecStream& stream, std::function<void()> on_ready) {
    const auto self = shared_from_this();
    struct End {
        TunnelClient& client;
        ~End() {
            client.ready_ = false;
            client.closed_ = client.connections_.size();
            client.give_up_all();
        }
    };
    const End end{*this};
    co_return co_await with_watch(with_watch(read_stream(stream, std::move(on_ready)), write_stream(stream)),
                                  watch_silence());
}

Task<Status> TunnelClient::read_stream(ExecStream& stream, std::function<void()> on_ready) {
    const auto on_event = [&](const TunnelChannels::Event& event) {
        if (event.kind == TunnelChannels::Event::Kind::hello) {
            ready_ = true;
            channels_.ping(); // whether it answers is known from the beginning
            return on_ready();
        }
        take(event);
    };
    while (true) {
        auto chunk = co_await stream.read();
        CO_TRY(chunk);
        if (chunk->end) {
            co_return ok;
        }
        heard_ = true;
        if (chunk->stream == StdStream::err) {
            err_ += chunk->bytes.substr(0, longest_complaint - std::min(err_.size(), longest_complaint));
        } else if (auto taken = channels_.take(chunk->bytes, on_event); !taken) {
            co_return taken;
        }
        if (channels_.waiting() > 0) {
            to_send_.set();
        }
    }
}

Task<Error> TunnelClient::write_stream(ExecStream& stream) {
    std::string bytes;
    auto ping_at = steady_clock::now() + times_.ping;
    while (true) {
        if (const auto now = steady_clock::now(); now >= ping_at) { // also when there is much else to say
            channels_.ping();
            ping_at = now + times_.ping;
        }
        if (channels_.waiting() == 0) {
            to_send_.reset();
            co_await to_send_.wait_at_most(ping_at - steady_clock::now());
            continue;
        }
        channels_.take_output(bytes);
        CO_TRY(co_await stream.write(bytes));
        sent_.notify();
    }
}

// A container that is paused, and a way that swallows everything, close nothing. The silence is counted in
// pauses: one in which this process itself stood still is no longer than another.
Task<Error> TunnelClient::watch_silence() {
    std::chrono::milliseconds silence{0};
    while (silence < times_.lease) {
        heard_ = false;
        co_await pause_for(times_.ping);
        const bool may_be_silent = ready_ && !channels_.answered(); // it is of an earlier dockdist
        silence = heard_ || may_be_silent ? std::chrono::milliseconds(0) : silence + times_.ping;
    }
    co_return Error{ErrorKind::timeout, "",
                    fmt::format("the node says nothing for {} s",
                                std::chrono::duration_cast<std::chrono::seconds>(times_.lease).count()),
                    "is its container paused, or its host overloaded?"};
}

void TunnelClient::take(const TunnelChannels::Event& event) {
    using Kind = TunnelChannels::Event::Kind;
    const auto found = connections_.find(event.channel);
    if (found == connections_.end()) {
        return;
    }
    auto& connection = *found->second;
    switch (event.kind) {
    case Kind::accepted:
        connection.answered = true;
        break;
    case Kind::failed:
        connection.answered = true;
        connection.failure = event.failure;
        break;
    case Kind::data: {
        const bool first = connection.incoming.view().empty();
        std::size_t written = 0;
        if (first) { // straight on: nothing waits before it
            error_code error;
            written = connection.socket.write_some(
                boost::asio::buffer(event.bytes.data(), event.bytes.size()), error);
            channels_.consumed(event.channel, written, written == event.bytes.size());
        }
        connection.incoming.feed(event.bytes.substr(written));
        break;
    }
    case Kind::end:
        connection.end_came = true;
        break;
    case Kind::gone:
        give_up(connection);
        break;
    default:
        break; // its window is open
    }
    connection.changed.notify();
}

// What the other end has not read is lost, and it hears that it is.
void TunnelClient::give_up(Connection& connection) {
    connection.over = true;
    channels_.reset(connection.id);
    error_code ignored;
    ignored = connection.socket.set_option(LocalSocket::linger(true, 0), ignored);
    ignored = connection.socket.close(ignored);
    connection.changed.notify();
    sent_.notify();
    to_send_.set();
}

void TunnelClient::give_up_all() {
    for (const auto& [id, connection] : connections_) {
        give_up(*connection);
    }
}

Task<void> TunnelClient::carry(LocalSocket socket, wire::TunnelTarget target,
                               std::function<void(const std::optional<wire::TunnelFailure>&)> on_answer) {
    const auto self = shared_from_this();
    if (!ready_) {
        co_return;
    }
    if (channels_.count() >= most_channels) {
        on_answer(wire::TunnelFailure{.kind = wire::TunnelFailure::Kind::too_many,
                                      .message = std::to_string(most_channels) + " are open already"});
        co_return;
    }
    const auto connection = std::make_shared<Connection>(executor_, std::move(socket));
    error_code ignored;
    ignored = connection->socket.non_blocking(true, ignored);
    ignored = connection->socket.set_option(tcp::no_delay(true), ignored); // a local one has none
    connection->id = channels_.open(target);
    connections_[connection->id] = connection;
    to_send_.set();
    struct End {
        TunnelClient& client;
        Connection& connection;
        ~End() {
            client.connections_.erase(connection.id);
            if (client.channels_.has(connection.id)) {
                client.give_up(connection);
            }
        }
    };
    const End end{*this, *connection};
    while (!connection->answered && !connection->over) {
        co_await connection->changed.wait_for_change();
    }
    if (connection->answered) {
        on_answer(connection->failure);
    }
    if (connection->failure) {
        give_up(*connection);
    }
    if (!connection->over) {
        std::vector<Task<Status>> ways;
        ways.push_back(read_local(*connection));
        ways.push_back(write_local(*connection));
        co_await run_all(std::move(ways));
    }
}

Task<Status> TunnelClient::read_local(Connection& connection) {
    while (!connection.over) {
        const auto most = std::min(channels_.room(connection.id), buffer_.size());
        if (most == 0) {
            co_await connection.changed.wait_for_change();
            continue;
        }
        if (channels_.waiting() > most_unsent) {
            co_await sent_.wait_for_change();
            continue;
        }
        error_code error;
        const auto count = connection.socket.read_some(boost::asio::buffer(buffer_.data(), most), error);
        if (would_block(error)) {
            const auto [waited] = co_await connection.socket.async_wait(LocalSocket::wait_read, tunnel_tuple);
            co_await throw_if_cancelled(waited);
            continue;
        }
        if (error == boost::asio::error::eof) {
            channels_.end(connection.id);
            to_send_.set();
            co_return ok;
        }
        if (error) {
            give_up(connection);
            co_return ok;
        }
        channels_.send(connection.id, {buffer_.data(), count});
        unpinged_ += count;
        if (unpinged_ >= most_unpinged) {
            channels_.ping();
            unpinged_ = 0;
        }
        to_send_.set();
        co_await boost::asio::post(executor_, boost::asio::use_awaitable); // behind those that got nothing
    }
    co_return ok;
}

Task<Status> TunnelClient::write_local(Connection& connection) {
    while (!connection.over) {
        if (!connection.incoming.view().empty()) {
            const auto [waited] =
                co_await connection.socket.async_wait(LocalSocket::wait_write, tunnel_tuple);
            co_await throw_if_cancelled(waited);
            if (!connection.over) {
                pass_on(connection);
            }
        } else if (connection.end_came) {
            error_code ignored;
            ignored = connection.socket.shutdown(LocalSocket::shutdown_send, ignored);
            co_return ok;
        } else {
            co_await connection.changed.wait_for_change();
        }
    }
    co_return ok;
}

void TunnelClient::pass_on(Connection& connection) {
    auto& incoming = connection.incoming;
    while (!incoming.view().empty()) {
        error_code error;
        const auto count = connection.socket.write_some(
            boost::asio::buffer(incoming.view().data(), incoming.view().size()), error);
        if (would_block(error)) {
            break;
        }
        if (error) {
            return give_up(connection);
        }
        incoming.take(count);
        channels_.consumed(connection.id, count, incoming.view().empty());
    }
    if (channels_.waiting() > 0) {
        to_send_.set();
    }
}

} // namespace dockdist

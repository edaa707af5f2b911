#include "client/engine/transport/tcp_connect.hpp"

#include "client/async/async_event.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/socket_stream.hpp"

#include <algorithm>
#include <netinet/tcp.h>
#include <vector>

namespace dockdist {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using Endpoints = std::vector<tcp::endpoint>;
using Socket = std::unique_ptr<tcp::socket>; // Result wants a T that can be made without arguments

Task<Result<Endpoints>> resolve(boost::asio::any_io_executor executor, EngineAddress address) {
    boost::system::error_code error;
    const auto numeric = boost::asio::ip::make_address(address.host, error);
    if (!error) {
        co_return Endpoints{tcp::endpoint(numeric, address.port.number)};
    }
    // A resolver's thread cannot be interrupted, so a cancelled wait leaves it to itself.
    struct Lookup {
        explicit Lookup(const boost::asio::any_io_executor& where) : resolver(where), done(where) {}
        tcp::resolver resolver;
        AsyncEvent done;
        boost::system::error_code error{};
        Endpoints endpoints{};
    };
    const auto lookup = std::make_shared<Lookup>(executor);
    lookup->resolver.async_resolve(
        address.host, std::to_string(address.port.number),
        [lookup](boost::system::error_code failure, const tcp::resolver::results_type& found) {
            lookup->error = failure;
            std::ranges::transform(found, std::back_inserter(lookup->endpoints),
                                   [](const auto& entry) { return entry.endpoint(); });
            lookup->done.set();
        });
    co_await lookup->done.wait();
    if (lookup->error) {
        co_return connect_error(address, lookup->error);
    }
    co_return lookup->endpoints;
}

void set_options(tcp::socket& socket) {
    boost::system::error_code ignored;
    ignored = socket.set_option(tcp::no_delay(true), ignored);
    ignored = socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
    const auto set = [&](int name, int value) {
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
    };
    set(TCP_KEEPIDLE, 15);
    set(TCP_KEEPINTVL, 5);
    set(TCP_KEEPCNT, 3);
    set(TCP_USER_TIMEOUT, 30'000); // keepalive does not run while sent bytes wait for their acknowledgement
}

Task<Result<Socket>> connect_one(boost::asio::any_io_executor executor, EngineAddress address,
                                 tcp::endpoint endpoint) {
    auto socket = std::make_unique<tcp::socket>(executor);
    boost::system::error_code error;
    error = socket->open(endpoint.protocol(), error);
    if (!error) {
        set_close_on_exec(socket->native_handle());
        set_options(*socket);
        std::tie(error) =
            co_await socket->async_connect(endpoint, boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    if (error) {
        co_await throw_if_cancelled(error);
        co_return connect_error(address, error);
    }
    co_return std::move(socket);
}

Task<Result<Socket>> connect_any(boost::asio::any_io_executor executor, EngineAddress address,
                                 milliseconds limit) {
    const auto begin = std::chrono::steady_clock::now();
    const auto endpoints = co_await resolve(executor, address);
    CO_TRY(endpoints);
    Result<Socket> socket = connect_error(address, boost::asio::error::host_not_found);
    for (std::size_t i = 0; i < endpoints->size(); ++i) {
        const auto left =
            limit - std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
        const auto share = std::max(left / static_cast<int>(endpoints->size() - i), milliseconds(1));
        socket = co_await with_timeout(connect_one(executor, address, endpoints->at(i)), share,
                                       connect_timeout_error(address, limit));
        if (socket) {
            break;
        }
    }
    co_return socket;
}

} // namespace

Task<Result<std::unique_ptr<tcp::socket>>> connect_tcp(boost::asio::any_io_executor executor,
                                                       EngineAddress address, milliseconds limit) {
    return with_timeout(connect_any(executor, address, limit),
                        limit + milliseconds(100), // resolving included
                        connect_timeout_error(address, limit));
}

} // namespace dockdist

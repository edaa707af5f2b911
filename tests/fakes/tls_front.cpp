#include "fakes/tls_front.hpp"

#include "client/async/task.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <array>

namespace dockdist {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;

struct TlsFront::State {
    State(asio::io_context& io, const TlsFiles& server, const EngineAddress& where)
        : acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          behind(asio::ip::make_address(where.host), where.port.number) {
        context.use_certificate_chain_file(server.cert);
        context.use_private_key_file(server.key, ssl::context::pem);
        context.load_verify_file(server.ca);
        context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    }
    tcp::acceptor acceptor;
    tcp::endpoint behind;
    ssl::context context{ssl::context::tls_server};
};

namespace {

struct Link {
    Link(tcp::socket socket, ssl::context& context)
        : front(std::move(socket), context), back(front.get_executor()) {}
    ssl::stream<tcp::socket> front;
    tcp::socket back;
};

Task<void> relay_in(std::shared_ptr<Link> link) {
    std::array<char, 16384> buffer{};
    while (true) {
        const auto [error, count] =
            co_await link->front.async_read_some(asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
        if (error) {
            boost::system::error_code ignored;
            link->back.shutdown(tcp::socket::shutdown_send, ignored);
            co_return;
        }
        (void)co_await asio::async_write(link->back, asio::buffer(buffer.data(), count),
                                         asio::as_tuple(asio::use_awaitable));
    }
}

Task<void> relay_out(std::shared_ptr<Link> link) {
    std::array<char, 16384> buffer{};
    while (true) {
        const auto [error, count] =
            co_await link->back.async_read_some(asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
        if (error) {
            // What Go's crypto/tls does when a connection is closed: says so, and closes.
            (void)co_await link->front.async_shutdown(asio::as_tuple(asio::use_awaitable));
            boost::system::error_code ignored;
            link->front.next_layer().close(ignored);
            co_return;
        }
        (void)co_await asio::async_write(link->front, asio::buffer(buffer.data(), count),
                                         asio::as_tuple(asio::use_awaitable));
    }
}

} // namespace

TlsFront::TlsFront(asio::io_context& io, const TlsFiles& server, const EngineAddress& behind)
    : state_(std::make_shared<State>(io, server, behind)) {
    const auto serve = [](std::shared_ptr<State> state) -> Task<void> {
        while (true) {
            auto [error, socket] = co_await state->acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
            if (error) {
                co_return;
            }
            const auto one = [](tcp::socket accepted, std::shared_ptr<State> shared) -> Task<void> {
                const auto link = std::make_shared<Link>(std::move(accepted), shared->context);
                const auto [refused] = co_await link->front.async_handshake(
                    ssl::stream_base::server, asio::as_tuple(asio::use_awaitable));
                if (refused) {
                    co_return;
                }
                co_await link->back.async_connect(shared->behind, asio::use_awaitable);
                asio::co_spawn(link->front.get_executor(), relay_in(link), asio::detached);
                co_await relay_out(link);
            };
            asio::co_spawn(state->acceptor.get_executor(), one(std::move(socket), state), asio::detached);
        }
    };
    asio::co_spawn(io, serve(state_), asio::detached);
}

TlsFront::~TlsFront() {
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
}

EngineAddress TlsFront::address() const {
    const auto port = state_->acceptor.local_endpoint().port();
    return {
        EngineAddress::Scheme::tls, "", "127.0.0.1", Port{port}, "", fmt::format("tcp://127.0.0.1:{}", port)};
}

} // namespace dockdist

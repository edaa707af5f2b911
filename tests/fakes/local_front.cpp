#include "fakes/local_front.hpp"

#include "client/async/task.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <utility>

namespace dockdist {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using local = asio::local::stream_protocol;

template <class From, class To>
Task<void> pass_between(std::shared_ptr<From> from, std::shared_ptr<To> to) {
    std::array<char, 65536> buffer{};
    while (true) {
        const auto [error, count] =
            co_await from->async_read_some(asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
        if (error) {
            boost::system::error_code ignored;
            ignored = to->shutdown(asio::socket_base::shutdown_send, ignored);
            co_return;
        }
        const auto [failed, sent] = co_await asio::async_write(*to, asio::buffer(buffer.data(), count),
                                                               asio::as_tuple(asio::use_awaitable));
        if (failed) { // gone: and so is the other side
            boost::system::error_code ignored;
            ignored = from->close(ignored);
            co_return;
        }
    }
}

} // namespace

struct LocalFront::State {
    State(asio::io_context& io, const std::string& path, const EngineAddress& engine)
        : acceptor(io, local::endpoint(path)),
          behind(asio::ip::make_address(engine.host), engine.port.number) {}
    local::acceptor acceptor;
    tcp::endpoint behind;
};

LocalFront::LocalFront(asio::io_context& io, const std::string& path, const EngineAddress& behind)
    : state_(std::make_shared<State>(io, path, behind)) {
    const auto lead_on = [](std::shared_ptr<State> state) -> Task<void> {
        while (true) {
            auto [error, socket] = co_await state->acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
            if (error) {
                co_return;
            }
            const auto front = std::make_shared<local::socket>(std::move(socket));
            const auto back = std::make_shared<tcp::socket>(front->get_executor());
            const auto [refused] =
                co_await back->async_connect(state->behind, asio::as_tuple(asio::use_awaitable));
            if (!refused) {
                asio::co_spawn(front->get_executor(), pass_between(front, back), asio::detached);
                asio::co_spawn(front->get_executor(), pass_between(back, front), asio::detached);
            }
        }
    };
    asio::co_spawn(io, lead_on(state_), asio::detached);
}

LocalFront::~LocalFront() {
    boost::system::error_code ignored;
    ignored = state_->acceptor.close(ignored);
}

} // namespace dockdist

#include "client/engine/transport/srun/step_stream.hpp"

#include "client/async/throw_if_cancelled.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "client/engine/transport/srun/step_commands.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t step_piece = 64U << 10U;
constexpr std::size_t most_chatter = 256U << 10U;
constexpr auto step_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace

Task<Status> StepStream::skip_to_tunnel() {
    std::string said;
    while (said.size() < most_chatter) {
        auto chunk = co_await read();
        CO_TRY(chunk);
        if (chunk->end) {
            break;
        }
        said += chunk->bytes;
        if (const auto at = said.find(tunnel_begins); at != std::string::npos) {
            early_ = said.substr(at + tunnel_begins.size());
            co_return ok;
        }
    }
    co_return Error{ErrorKind::protocol, "", "the step does not begin", ""};
}

Task<Result<ExecStream::Chunk>> StepStream::read() {
    if (!early_.empty()) {
        co_return Chunk{.bytes = std::exchange(early_, {})};
    }
    std::string bytes(step_piece, '\0');
    const auto [error, count] =
        co_await srun_->socket().async_read_some(boost::asio::buffer(bytes), step_tuple);
    if (error == boost::asio::error::eof) {
        co_return Chunk{.end = true};
    }
    if (error) {
        co_await throw_if_cancelled(error);
        co_return stream_error(error);
    }
    bytes.resize(count);
    co_return Chunk{.bytes = std::move(bytes)};
}

Task<Status> StepStream::write(std::span<const char> bytes) {
    const auto [error, count] = co_await boost::asio::async_write(
        srun_->socket(), boost::asio::buffer(bytes.data(), bytes.size()), step_tuple);
    if (error) {
        co_await throw_if_cancelled(error);
        co_return stream_error(error);
    }
    co_return ok;
}

Task<Status> StepStream::close_stdin() {
    boost::system::error_code error;
    error = srun_->socket().shutdown(boost::asio::local::stream_protocol::socket::shutdown_send, error);
    co_return ok;
}

} // namespace dockdist

#include "scale/stub_engines/pipes.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>

namespace dockdist::scale {

using boost::asio::posix::stream_descriptor;

Task<std::string> read_pipe(stream_descriptor& pipe) {
    static std::array<char, 65536> bytes;
    pipe.non_blocking(true);
    while (true) {
        auto [error] = co_await pipe.async_wait(stream_descriptor::wait_read,
                                                boost::asio::as_tuple(boost::asio::use_awaitable));
        const auto count = error ? 0 : pipe.read_some(boost::asio::buffer(bytes), error);
        if (error != boost::asio::error::would_block) {
            co_return error ? std::string() : std::string(bytes.data(), count);
        }
    }
}

Task<std::string> read_pipe_to_end(stream_descriptor pipe) {
    std::string text;
    while (true) {
        const auto piece = co_await read_pipe(pipe);
        if (piece.empty()) {
            co_return text;
        }
        text += piece;
    }
}

} // namespace dockdist::scale

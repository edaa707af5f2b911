// ByteStream on a plain Asio socket.
#pragma once

#include "client/async/throw_if_cancelled.hpp"
#include "client/engine/transport/byte_stream.hpp"
#include "client/engine/transport/connect_error.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <utility>

namespace dockdist {

// Programs that we start (ssh, credential helpers) must not inherit engine connections; Asio leaves that
// open.
inline void set_close_on_exec(int descriptor) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

// What waits to be read on an idle socket: 0 nothing, -1 the peer has closed or the socket is broken, else
// bytes.
inline int peek(int descriptor) {
    char byte = 0;
    const auto count = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0) {
        return 1;
    }
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

template <class Socket>
class SocketStream final : public ByteStream {
public:
    explicit SocketStream(Socket socket) : socket_(std::move(socket)) {}

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override {
        const auto [error, count] =
            co_await socket_.async_read_some(boost::asio::buffer(buffer.data(), buffer.size()),
                                             boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error == boost::asio::error::eof) {
            co_return std::size_t{0};
        }
        if (error) {
            co_await throw_if_cancelled(error);
            co_return stream_error(error);
        }
        co_return count;
    }

    Task<Status> write(std::span<const char> bytes) override {
        const auto [error, count] =
            co_await boost::asio::async_write(socket_, boost::asio::buffer(bytes.data(), bytes.size()),
                                              boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return stream_error(error);
        }
        co_return ok;
    }

    Task<Status> shutdown_send() override {
        boost::system::error_code error;
        (void)socket_.shutdown(Socket::shutdown_send, error);
        if (error) {
            co_return stream_error(error);
        }
        co_return ok;
    }

    void close() noexcept override {
        boost::system::error_code ignored;
        (void)socket_.close(ignored);
    }

    bool stale() override { return !socket_.is_open() || peek(socket_.native_handle()) != 0; }

private:
    Socket socket_;
};

} // namespace dockdist

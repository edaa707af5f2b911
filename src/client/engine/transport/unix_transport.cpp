#include "client/async/pause.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/transport.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <algorithm>

namespace dockdist {
namespace {

using boost::asio::local::stream_protocol;

Task<Result<std::unique_ptr<ByteStream>>> connect_unix(boost::asio::any_io_executor executor,
                                                       EngineAddress address) {
    using namespace std::chrono_literals;
    stream_protocol::socket socket(executor);
    boost::system::error_code error;
    error = socket.open(stream_protocol(), error);
    if (error) {
        co_return connect_error(address, error);
    }
    set_close_on_exec(socket.native_handle());
    error = socket.non_blocking(true, error);
    // A unix socket connects at once or, when the listener's queue is full, not at all (EAGAIN): nothing
    // tells when to try again, and Asio takes such a socket for a connected one.
    const stream_protocol::endpoint endpoint(address.path);
    for (auto delay = 5ms;; delay = std::min(delay * 2, 100ms)) {
        const int failed =
            ::connect(socket.native_handle(), endpoint.data(), static_cast<socklen_t>(endpoint.size()));
        error.assign(failed == 0 ? 0 : errno, boost::system::system_category());
        if (error != boost::asio::error::would_block && error != boost::asio::error::try_again) {
            break;
        }
        co_await pause_for(delay);
    }
    if (error) {
        co_return connect_error(address, error);
    }
    co_return std::make_unique<SocketStream<stream_protocol::socket>>(std::move(socket));
}

class UnixTransport final : public Transport {
public:
    UnixTransport(boost::asio::any_io_executor executor, EngineAddress address,
                  std::chrono::milliseconds limit)
        : executor_(std::move(executor)), address_(std::move(address)), limit_(limit) {}

    Task<Result<std::unique_ptr<ByteStream>>> connect() override {
        return with_timeout(connect_unix(executor_, address_), limit_,
                            connect_timeout_error(address_, limit_));
    }

private:
    boost::asio::any_io_executor executor_;
    EngineAddress address_;
    std::chrono::milliseconds limit_;
};

class RefusingTransport final : public Transport {
public:
    explicit RefusingTransport(Error error) : error_(std::move(error)) {}
    Task<Result<std::unique_ptr<ByteStream>>> connect() override { return answer(error_); }

private:
    static Task<Result<std::unique_ptr<ByteStream>>> answer(Error error) { co_return error; }
    Error error_;
};

} // namespace

std::unique_ptr<Transport> make_unix_transport(const boost::asio::any_io_executor& executor,
                                               EngineAddress address,
                                               std::chrono::milliseconds connect_timeout) {
    return std::make_unique<UnixTransport>(executor, std::move(address), connect_timeout);
}

std::unique_ptr<Transport> make_refusing_transport(Error error) {
    return std::make_unique<RefusingTransport>(std::move(error));
}

} // namespace dockdist

#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/tcp_connect.hpp"
#include "client/engine/transport/transport.hpp"

namespace dockdist {
namespace {

using boost::asio::ip::tcp;

class TcpTransport final : public Transport {
public:
    TcpTransport(boost::asio::any_io_executor executor, EngineAddress address,
                 std::chrono::milliseconds limit)
        : executor_(std::move(executor)), address_(std::move(address)), limit_(limit) {}

    Task<Result<std::unique_ptr<ByteStream>>> connect() override {
        return connect(executor_, address_, limit_);
    }

private:
    static Task<Result<std::unique_ptr<ByteStream>>>
    connect(boost::asio::any_io_executor executor, EngineAddress address, std::chrono::milliseconds limit) {
        auto socket = co_await connect_tcp(executor, address, limit);
        CO_TRY(socket);
        co_return std::make_unique<SocketStream<tcp::socket>>(std::move(**socket));
    }

    boost::asio::any_io_executor executor_;
    EngineAddress address_;
    std::chrono::milliseconds limit_;
};

} // namespace

std::unique_ptr<Transport> make_tcp_transport(const boost::asio::any_io_executor& executor,
                                              EngineAddress address,
                                              std::chrono::milliseconds connect_timeout) {
    return std::make_unique<TcpTransport>(executor, std::move(address), connect_timeout);
}

} // namespace dockdist

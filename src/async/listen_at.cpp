#include "async/listen_at.hpp"

#include <fcntl.h>

namespace dockdist {

boost::system::error_code listen_at(boost::asio::ip::tcp::acceptor& acceptor,
                                    const boost::asio::ip::tcp::endpoint& endpoint) {
    using boost::asio::socket_base;
    boost::system::error_code error;
    if (acceptor.open(endpoint.protocol(), error), error) {
        return error;
    }
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    error = acceptor.set_option(socket_base::reuse_address(true), error);
    if (!error) {
        error = acceptor.bind(endpoint, error);
    }
    if (!error) {
        error = acceptor.listen(socket_base::max_listen_connections, error);
    }
    return error;
}

} // namespace dockdist

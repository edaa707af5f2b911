#include "client/async/listen_at.hpp"

#include <boost/asio/error.hpp>

#include <fcntl.h>

namespace dockdist {
namespace {

using boost::asio::socket_base;
using boost::system::error_code;

} // namespace

error_code bind_at(boost::asio::ip::tcp::acceptor& acceptor, const boost::asio::ip::tcp::endpoint& endpoint) {
    error_code error;
    if (acceptor.open(endpoint.protocol(), error), error) {
        return error;
    }
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    error = acceptor.bind(endpoint, error);
    // Two that both reuse addresses may bind the same one, as long as neither listens: not unless it must be.
    if (error == boost::asio::error::address_in_use) {
        error = acceptor.set_option(socket_base::reuse_address(true), error);
        if (!error) {
            error = acceptor.bind(endpoint, error);
        }
    }
    return error;
}

error_code start_listening(boost::asio::ip::tcp::acceptor& acceptor) {
    error_code error;
    // Connections have it from here: so the next one can have the address that they have left.
    error = acceptor.set_option(socket_base::reuse_address(true), error);
    if (!error) {
        error = acceptor.listen(socket_base::max_listen_connections, error);
    }
    return error;
}

error_code listen_at(boost::asio::ip::tcp::acceptor& acceptor,
                     const boost::asio::ip::tcp::endpoint& endpoint) {
    const auto error = bind_at(acceptor, endpoint);
    return error ? error : start_listening(acceptor);
}

} // namespace dockdist

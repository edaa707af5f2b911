// A TCP socket of this process that listens.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace dockdist {

// `acceptor` is a new one. From now on the address is nobody else's, and who connects is refused. It may be
// one that a connection has just left, and no program that is started later inherits it. Port 0 is any that
// is free.
[[nodiscard]] boost::system::error_code bind_at(boost::asio::ip::tcp::acceptor& acceptor,
                                                const boost::asio::ip::tcp::endpoint& endpoint);

// Of one that is bound: from now on connections wait for accept(). address_in_use: somebody was faster, which
// can be where a connection has just left the address.
[[nodiscard]] boost::system::error_code start_listening(boost::asio::ip::tcp::acceptor& acceptor);

// Both.
[[nodiscard]] boost::system::error_code listen_at(boost::asio::ip::tcp::acceptor& acceptor,
                                                  const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace dockdist

// A TCP socket of this process that listens.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace dockdist {

// `acceptor` is a new one. It may take an address that a connection has just left, and no program that is
// started later inherits it. Port 0 is any that is free.
[[nodiscard]] boost::system::error_code listen_at(boost::asio::ip::tcp::acceptor& acceptor,
                                                  const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace dockdist

// A port of this machine's loopback that listens for who wants to be forwarded.
#pragma once

#include "core/result.hpp"
#include "forward/forward_port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <string>
#include <vector>

namespace dockdist {

struct LocalPort {
    wire::TunnelTarget target{};
    int number = 0;
    std::vector<boost::asio::ip::tcp::acceptor> acceptors{}; // 127.0.0.1, and ::1 where there is one

    std::vector<std::string> addresses() const;
    std::string url() const; // "http://127.0.0.1:8888"
};

// Listens from now on. Errors: conflict (in use, with its holder where that can be seen), internal; where =
// "port N".
Result<LocalPort> listen_locally(const boost::asio::any_io_executor& executor, const ForwardPort& wanted);
// All, or an error for each that cannot be had, and none.
struct LocalPorts {
    std::vector<LocalPort> ports{};
    Errors errors{};
};
LocalPorts listen_on_all(const boost::asio::any_io_executor& executor,
                         const std::vector<ForwardPort>& wanted);

} // namespace dockdist

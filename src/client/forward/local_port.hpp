// A port of this machine's loopback, for who wants to be forwarded.
#pragma once

#include "client/forward/forward_port.hpp"
#include "shared/core/result.hpp"

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

// Nobody else's from now on; who connects is refused until listen_on(). Errors: conflict (in use, with its
// holder where that can be seen), internal; where = "port N".
Result<LocalPort> take_local_port(const boost::asio::any_io_executor& executor, const ForwardPort& wanted);
// All, or an error for each that cannot be had, and none.
struct LocalPorts {
    std::vector<LocalPort> ports{};
    Errors errors{};
};
LocalPorts take_local_ports(const boost::asio::any_io_executor& executor,
                            const std::vector<ForwardPort>& wanted);

// Errors: as above.
Status listen_on(LocalPort& port);

} // namespace dockdist

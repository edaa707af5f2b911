// Where Prometheus scrapes: GET /metrics over HTTP.
#pragma once

#include "async/limiter.hpp"
#include "async/task.hpp"
#include "core/result.hpp"
#include "prometheus/exposition.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dockdist {

struct ListenAddress {
    std::string host{};     // an IP address; `localhost` is 127.0.0.1
    std::uint16_t port = 0; // 0: any that is free
};
// "127.0.0.1:9464", "[::1]:9464". Errors: usage; also for what is no loopback address, where that is not
// `anywhere`.
Result<ListenAddress> parse_listen_address(const std::string& text, bool anywhere);

class MetricsServer {
public:
    // Whole, in the format that the client wants; called for each request.
    using Page = std::function<std::string(ExpositionFormat format)>;

    // Errors: the address cannot be had (conflict).
    static Result<MetricsServer> listen(const boost::asio::any_io_executor& executor,
                                        const ListenAddress& address);

    std::string url() const; // "http://127.0.0.1:9464/metrics"
    // Until it is cancelled. 256 connections at a time, each closed when it is silent; the others wait.
    Task<void> serve(Page page);

private:
    explicit MetricsServer(boost::asio::ip::tcp::acceptor acceptor);
    Task<Status> work(Page page);
    Task<Status> talk(boost::asio::ip::tcp::socket& socket, const Page& page);

    boost::asio::ip::tcp::acceptor acceptor_;
    Limiter answers_;
};

} // namespace dockdist

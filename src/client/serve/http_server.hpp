// A small HTTP server of this machine, for who looks: GET alone, plain text in, whole answers out.
#pragma once

#include "client/async/limiter.hpp"
#include "client/async/task.hpp"
#include "shared/core/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace dockdist {

struct ListenAddress {
    std::string host{};     // an IP address; `localhost` is 127.0.0.1
    std::uint16_t port = 0; // 0: any that is free
};
// "127.0.0.1:9464", "[::1]:9464". Errors: usage; also for what is no loopback address, where that is not
// `anywhere`.
Result<ListenAddress> parse_listen_address(const std::string& text, bool anywhere);

struct HttpQuestion {
    std::string path{};   // "/metrics": as it was sent, without a query
    std::string accept{}; // the header
};
struct HttpReply {
    unsigned status = 200;
    std::string body{};
    std::string type = "text/plain; charset=utf-8";
};

class HttpServer {
public:
    // Called for each request, for several at a time.
    using Answers = std::function<Task<HttpReply>(HttpQuestion question)>;

    // `address`, `anywhere`: as parse_listen_address() takes them. Errors: its; the address cannot be had
    // (conflict), with `hint` where somebody has it.
    static Result<HttpServer> listen(const boost::asio::any_io_executor& executor, const std::string& address,
                                     bool anywhere, const std::string& hint);

    std::string url() const; // "http://127.0.0.1:9464"
    // Until it is cancelled. 256 connections at a time, each closed when it is silent; the others wait. A
    // page of elsewhere that has its own name lead to a loopback address is refused.
    Task<void> serve(Answers answers);

private:
    explicit HttpServer(boost::asio::ip::tcp::acceptor acceptor);
    Task<Status> work(const Answers& answers);
    Task<Status> talk(boost::asio::ip::tcp::socket& socket, const Answers& answers);

    boost::asio::ip::tcp::acceptor acceptor_;
    Limiter turns_;
};

} // namespace dockdist

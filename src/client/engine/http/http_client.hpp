// HTTP/1.1 requests to one engine over one connection that is opened when needed and kept.
//
// Reads (GET) that are asked for at the same time are pipelined; everything else goes alone, in the order
// asked for. When the peer has closed the kept connection, requests that may be repeated (GET, DELETE, PUT)
// are sent again on a new one, as long as connections answer anything at all. A request without an answer
// after its deadline takes the connection down, and with it the requests that wait behind it.
//
// The client has no pending work while no request is under way, so it keeps no io_context running.
#pragma once

#include "client/async/task.hpp"
#include "client/engine/http/message.hpp"
#include "client/engine/transport/transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace dockdist {

struct CallLimits {
    std::chrono::milliseconds deadline{30'000}; // from the moment in which the request is sent
    std::uint64_t body = 4ULL << 20U; // bytes of the answer; as JSON values they take twenty times that
};

class HttpClient {
public:
    // `host_header` may be empty.
    HttpClient(boost::asio::any_io_executor executor, std::shared_ptr<Transport> transport,
               std::string host_header);
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;
    ~HttpClient(); // as close()

    // Pending and later calls end with an error.
    void close();

    // Any status is a success here. Cancelled: a request that was not sent yet never is; the answer to one
    // that was is thrown away. Errors: unreachable, timeout, protocol; without `where`.
    Task<Result<HttpResponse>> call(HttpRequest request, CallLimits limits);

    // The kept connection, where it lies idle and is good: whoever takes it has it alone, and the next call
    // opens another one. Else nothing.
    std::shared_ptr<ByteStream> take_idle();

    // How many times a request was sent while none was under way.
    int round_trips() const;

private:
    class Connection;
    std::shared_ptr<Connection> connection_;
};

} // namespace dockdist

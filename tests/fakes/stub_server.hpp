// An HTTP server on 127.0.0.1 that says exactly what a test wants, byte by byte if need be, and remembers
// what it was asked. It runs on the test's own io_context, so a test decides what happens when, without
// clocks.
#pragma once

#include "client/async/task.hpp"
#include "shared/core/engine_address.hpp"
#include "shared/core/result.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct StubRequest {
    int connection = 0; // counted from 1
    std::string method{}, target{};
    std::map<std::string, std::string> headers{}; // names in lower case
    std::string body{};
    std::string line() const { return method + " " + target; }
};

// The server's side of one connection.
class StubConnection {
public:
    struct Shared;
    explicit StubConnection(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    int number() const;
    // The next request with its body; nothing when the client has closed.
    Task<std::optional<StubRequest>> read_request();
    // Bytes as they come, after the last request (an upgraded stream); "" at their end.
    Task<std::string> read_some();
    Task<void> send(std::string bytes);
    // Each byte by itself, with a turn of the loop between.
    Task<void> send_sliced(std::string bytes);
    Task<void> wait_until_client_closes();
    void close();
    void shutdown_send();

private:
    std::shared_ptr<Shared> shared_;
};

class StubServer {
public:
    using Script = std::function<Task<void>(StubConnection connection)>;
    using Answer = std::function<std::string(const StubRequest& request)>;

    // Plays `script` on each connection; the connection closes when it returns.
    StubServer(boost::asio::io_context& io, Script script);
    ~StubServer();

    // A script that answers /_ping like an engine of `api`, and everything else by `answer`. Answers that are
    // "" are not sent: the connection closes instead.
    static Script engine(Answer answer, std::string api = "1.45", bool sliced = false);

    EngineAddress address() const;
    int connections() const;
    // All requests, of all connections, in the order of their arrival; without /_ping.
    const std::vector<StubRequest>& requests() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

// Whole answers.
std::string http_answer(int status, const std::string& body,
                        const std::string& content_type = "application/json");
std::string http_chunked(int status, const std::vector<std::string>& chunks);
// `builder`: "1" where BuildKit is turned off, "2" where it is the default.
std::string ping_answer(const std::string& api = "1.45", const std::string& builder = "1");

// A frame of an exec's or a log's output; `stream`: 1 for stdout, 2 for stderr.
std::string stdio_frame(char stream, std::string_view bytes);

} // namespace dockdist

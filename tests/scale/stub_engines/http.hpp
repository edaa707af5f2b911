// The engine's side of HTTP/1.1: requests as they come, answers as an engine writes them, and what follows an
// upgrade.
#pragma once

#include "scale/stub_engines/counters.hpp"
#include "scale/stub_engines/way.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::scale {

struct Request {
    std::string method{};
    std::string path{}; // without the API's version and the query
    std::map<std::string, std::string> query{};
    std::map<std::string, std::string> headers{}; // names in small letters
    std::uint64_t length = 0;                     // of the body
    bool chunked = false;
    Clock::time_point arrived{};

    // What it asks for, the same for all containers and images: "POST /containers/X/start". Keys of `query`
    // are not in it.
    std::string call{};
    std::string item{}; // what stands for X
    std::string get(const std::string& name, const std::string& otherwise = "") const {
        const auto found = query.find(name);
        return found == query.end() ? otherwise : found->second;
    }
};

class Connection {
public:
    // `way` and `count` are the host's; they and `counters` outlive it.
    Connection(boost::asio::ip::tcp::socket socket, Way& way, Counters& counters, HostCount& count);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { leave(); }

    // The next request without its body; nothing when the client has gone or does not speak HTTP.
    Task<std::optional<Request>> read_request();
    // The body in pieces, each when it would have come. False: the client has gone.
    Task<bool> read_body(const Request& request, std::function<void(std::string_view)> take);
    Task<std::string> read_body(const Request& request);

    Task<bool> answer(int status, const nlohmann::json& body);
    Task<bool> answer(int status, std::string body, const std::string& type);
    Task<bool> fail(int status, const std::string& message); // as engines put it
    // The head of a body in chunks; then chunk() for each, and chunk("") at the end.
    Task<bool> begin_chunks(int status, const std::string& type);
    Task<bool> chunk(std::string bytes);
    // The head of a stream both ways, on which the rest is raw: of an upgrade where the client has asked for
    // one, else of an answer that ends with the connection.
    Task<bool> begin_stream(const Request& request);
    void be_stream() { is_stream_ = true; } // there is no request after this one
    bool is_stream() const { return is_stream_; }
    // Bytes of the stream; "" at the client's end, or when it has gone.
    Task<std::string> read_raw();
    Clock::time_point arrived() const { return filled_; } // what was read last, at the engine
    // Whole; false when nobody takes it any more.
    Task<bool> write(std::string bytes);

    Way& way() { return way_; }
    bool gone() const { return gone_; }
    // The client has said its last word; it may listen still, but nobody can tell that from its being gone.
    bool has_left() const { return left_; }
    boost::asio::any_io_executor executor() { return socket_.get_executor(); }
    void finish(); // no more from here: the client sees the end of the stream
    void reset();  // as if the cable were cut

private:
    void leave();
    Task<bool> fill();
    Task<bool> read_chunked(std::function<void(std::string_view)> take);
    Task<bool> send_timed(std::string bytes);

    boost::asio::ip::tcp::socket socket_;
    Way& way_;
    Counters& counters_;
    HostCount& count_;
    Clock::time_point first_answer_; // a connection costs a round trip before its first request
    Clock::time_point filled_{};
    std::string buffer_{};
    bool gone_ = false, left_ = false, is_stream_ = false;
};

// Reads what comes, and throws it away, until the client has left. For streams on which it says nothing:
// bytes that nobody has read when a connection closes would take the last frames with them.
void hear_out(std::shared_ptr<Connection> connection, std::function<void()> then = {});

// Of an answer that is a stream: 1 is stdout, 2 stderr.
std::string stream_frame(int stream, std::string_view bytes);

} // namespace dockdist::scale

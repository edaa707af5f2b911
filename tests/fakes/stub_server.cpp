#include "fakes/stub_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace dockdist {

namespace asio = boost::asio;
using asio::ip::tcp;

struct StubServer::State {
    State(asio::io_context& io, Script what)
        : acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), script(std::move(what)) {}
    tcp::acceptor acceptor;
    Script script;
    int connections = 0;
    std::vector<StubRequest> requests{};
};

struct StubConnection::Shared {
    Shared(tcp::socket accepted, int which, std::function<void(const StubRequest&)> remember)
        : socket(std::move(accepted)), number(which), on_request(std::move(remember)) {}
    tcp::socket socket;
    int number;
    std::function<void(const StubRequest&)> on_request;
    std::string buffer{};
};

namespace {

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

StubRequest parse_head(const std::string& head) {
    StubRequest request;
    std::size_t begin = 0;
    for (bool first = true; begin < head.size(); first = false) {
        const auto end = std::min(head.find("\r\n", begin), head.size());
        const std::string line = head.substr(begin, end - begin);
        begin = end + 2;
        if (first) {
            const auto space = line.find(' ');
            request.method = line.substr(0, space);
            request.target = line.substr(space + 1, line.rfind(' ') - space - 1);
        } else if (const auto colon = line.find(": "); colon != std::string::npos) {
            request.headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
        }
    }
    return request;
}

Task<bool> fill(std::shared_ptr<StubConnection::Shared> shared) {
    std::array<char, 65536> bytes{};
    const auto [error, count] =
        co_await shared->socket.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
    shared->buffer.append(bytes.data(), count);
    co_return !error;
}

Task<bool> take(std::shared_ptr<StubConnection::Shared> shared, std::size_t size, std::string& into) {
    while (shared->buffer.size() < size) {
        if (!co_await fill(shared)) {
            co_return false;
        }
    }
    into += shared->buffer.substr(0, size);
    shared->buffer.erase(0, size);
    co_return true;
}

Task<bool> read_body(std::shared_ptr<StubConnection::Shared> shared, StubRequest& request) {
    const auto length =
        request.headers.contains("content-length") ? std::stoull(request.headers["content-length"]) : 0;
    co_return co_await take(shared, length, request.body);
}

// Up to the chunk of size 0.
Task<bool> read_chunks(std::shared_ptr<StubConnection::Shared> shared, StubRequest& request) {
    for (std::size_t size = 1; size > 0;) {
        std::size_t end = 0;
        while ((end = shared->buffer.find("\r\n")) == std::string::npos) {
            if (!co_await fill(shared)) {
                co_return false;
            }
        }
        size = std::stoull(shared->buffer.substr(0, end), nullptr, 16);
        shared->buffer.erase(0, end + 2);
        std::string line_end;
        if (!co_await take(shared, size, request.body) || !co_await take(shared, 2, line_end)) {
            co_return false;
        }
    }
    co_return true;
}

} // namespace

int StubConnection::number() const {
    return shared_->number;
}

Task<std::optional<StubRequest>> StubConnection::read_request() {
    const auto shared = shared_;
    std::size_t end = 0;
    while ((end = shared->buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!co_await fill(shared)) {
            co_return std::nullopt;
        }
    }
    StubRequest request = parse_head(shared->buffer.substr(0, end));
    request.connection = shared->number;
    shared->buffer.erase(0, end + 4);
    const bool read = request.headers["transfer-encoding"] == "chunked"
                          ? co_await read_chunks(shared, request)
                          : co_await read_body(shared, request);
    if (!read) {
        co_return std::nullopt;
    }
    shared->on_request(request);
    co_return request;
}

Task<std::string> StubConnection::read_some() {
    const auto shared = shared_;
    if (shared->buffer.empty()) {
        (void)co_await fill(shared);
    }
    co_return std::exchange(shared->buffer, {});
}

Task<void> StubConnection::send(std::string bytes) {
    const auto shared = shared_;
    (void)co_await asio::async_write(shared->socket, asio::buffer(bytes),
                                     asio::as_tuple(asio::use_awaitable));
}

Task<void> StubConnection::send_sliced(std::string bytes) {
    const auto shared = shared_;
    for (const char byte : bytes) {
        co_await send(std::string(1, byte));
        co_await asio::post(asio::use_awaitable);
    }
}

Task<void> StubConnection::wait_until_client_closes() {
    const auto shared = shared_;
    while (co_await fill(shared)) {
    }
}

void StubConnection::close() {
    boost::system::error_code ignored;
    shared_->socket.close(ignored);
}

void StubConnection::shutdown_send() {
    boost::system::error_code ignored;
    shared_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

namespace {

// Parameters, not captures, are what a coroutine's frame keeps.
Task<void> play(StubServer::Script script, std::shared_ptr<StubConnection::Shared> shared) {
    co_await script(StubConnection(shared));
    StubConnection(shared).close();
}

Task<void> answer_all(StubServer::Answer answer, std::string api, bool sliced, StubConnection connection) {
    while (const auto request = co_await connection.read_request()) {
        const std::string bytes = request->target == "/_ping" ? ping_answer(api) : answer(*request);
        if (bytes.empty()) {
            co_return;
        }
        if (sliced) {
            co_await connection.send_sliced(bytes);
        } else {
            co_await connection.send(bytes);
        }
    }
}

} // namespace

StubServer::StubServer(asio::io_context& io, Script script)
    : state_(std::make_shared<State>(io, std::move(script))) {
    const auto serve = [](std::shared_ptr<State> state) -> Task<void> {
        while (true) {
            auto [error, socket] = co_await state->acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
            if (error) {
                co_return;
            }
            socket.set_option(tcp::no_delay(true));
            const auto remember = [state](const StubRequest& request) {
                if (request.target != "/_ping") {
                    state->requests.push_back(request);
                }
            };
            auto shared =
                std::make_shared<StubConnection::Shared>(std::move(socket), ++state->connections, remember);
            asio::co_spawn(state->acceptor.get_executor(), play(state->script, std::move(shared)),
                           asio::detached);
        }
    };
    asio::co_spawn(io, serve(state_), asio::detached);
}

StubServer::~StubServer() {
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
}

StubServer::Script StubServer::engine(Answer answer, std::string api, bool sliced) {
    return [answer = std::move(answer), api = std::move(api), sliced](StubConnection connection) {
        return answer_all(answer, api, sliced, std::move(connection));
    };
}

EngineAddress StubServer::address() const {
    const auto port = state_->acceptor.local_endpoint().port();
    return {
        EngineAddress::Scheme::tcp, "", "127.0.0.1", Port{port}, "", fmt::format("tcp://127.0.0.1:{}", port)};
}

int StubServer::connections() const {
    return state_->connections;
}

const std::vector<StubRequest>& StubServer::requests() const {
    return state_->requests;
}

std::string http_answer(int status, const std::string& body, const std::string& content_type) {
    return fmt::format("HTTP/1.1 {} Status\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status,
                       content_type, body.size(), body);
}

std::string http_chunked(int status, const std::vector<std::string>& chunks) {
    std::string text = fmt::format(
        "HTTP/1.1 {} Status\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", status);
    for (const auto& chunk : chunks) {
        text += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
    }
    return text + "0\r\n\r\n";
}

std::string ping_answer(const std::string& api, const std::string& builder) {
    return fmt::format("HTTP/1.1 200 OK\r\nApi-Version: {}\r\nBuilder-Version: {}\r\nOstype: linux\r\n"
                       "Content-Length: 2\r\nContent-Type: text/plain\r\n\r\nOK",
                       api, builder);
}

std::string stdio_frame(char stream, std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::string frame{stream, 0, 0, 0};
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        frame += static_cast<char>(size >> shift);
    }
    return frame.append(bytes);
}

} // namespace dockdist

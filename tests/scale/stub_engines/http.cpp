#include "scale/stub_engines/http.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <sys/socket.h>

namespace dockdist::scale {
namespace {

namespace asio = boost::asio;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t longest_head = 64U << 10U;
constexpr std::size_t read_size = 64U << 10U;
constexpr std::chrono::milliseconds taken_ahead{
    50}; // of a slow body that the kernel's buffers take as a network would

std::string small_letters(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return result;
}

std::string percent_decoded(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
            result += static_cast<char>(value);
            i += 2;
        } else {
            result += text[i] == '+' ? ' ' : text[i];
        }
    }
    return result;
}

std::map<std::string, std::string> parse_query(std::string_view text) {
    std::map<std::string, std::string> result;
    while (!text.empty()) {
        const auto end = std::min(text.find('&'), text.size());
        const auto pair = text.substr(0, end);
        const auto equals = std::min(pair.find('='), pair.size());
        result[percent_decoded(pair.substr(0, equals))] =
            percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

// "/containers/ID/start" is the call "/containers/X/start" of ID; an image's name may hold slashes.
void name_call(Request& request) {
    const std::string_view path = request.path;
    request.call = request.method + " " + request.path;
    for (const std::string_view collection : {"/containers/", "/exec/", "/volumes/", "/images/"}) {
        if (!path.starts_with(collection)) {
            continue;
        }
        const auto rest = path.substr(collection.size());
        if (rest == "json" || rest == "create" || rest == "load" || rest == "prune") {
            return;
        }
        auto slash = rest.rfind('/');
        const auto last = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
        constexpr std::array<std::string_view, 15> actions{"json",   "start",   "stop",    "exec", "logs",
                                                           "attach", "archive", "changes", "get",  "tag",
                                                           "push",   "rename",  "wait",    "kill", "top"};
        if (std::ranges::find(actions, last) == actions.end()) {
            slash = std::string_view::npos;
        }
        request.item = percent_decoded(rest.substr(0, slash));
        request.call = request.method + " " + std::string(collection) + "X" +
                       (slash == std::string_view::npos ? "" : "/" + std::string(last));
        return;
    }
}

std::optional<Request> parse_head(std::string_view head) {
    Request request;
    const auto first = head.substr(0, head.find("\r\n"));
    const auto space = first.find(' ');
    const auto last = first.rfind(' ');
    if (space == std::string_view::npos || last == space) {
        return std::nullopt;
    }
    request.method = first.substr(0, space);
    auto target = first.substr(space + 1, last - space - 1);
    if (const auto question = target.find('?'); question != std::string_view::npos) {
        request.query = parse_query(target.substr(question + 1));
        target = target.substr(0, question);
    }
    if (target.starts_with("/v1.")) {
        target.remove_prefix(std::min(target.find('/', 1), target.size()));
    }
    request.path = target;
    for (auto rest = head.substr(std::min(first.size() + 2, head.size())); !rest.empty();) {
        const auto line = rest.substr(0, rest.find("\r\n"));
        if (const auto colon = line.find(':'); colon != std::string_view::npos) {
            const auto value = line.find_first_not_of(' ', colon + 1);
            request.headers[small_letters(line.substr(0, colon))] =
                value == std::string_view::npos ? "" : line.substr(value);
        }
        rest.remove_prefix(std::min(line.size() + 2, rest.size()));
    }
    if (const auto length = request.headers.find("content-length"); length != request.headers.end()) {
        std::from_chars(length->second.data(), length->second.data() + length->second.size(), request.length);
    }
    request.chunked = request.headers.contains("transfer-encoding");
    name_call(request);
    return request;
}

std::string_view reason(int status) {
    switch (status) {
    case 101:
        return "UPGRADED";
    case 200:
        return "OK";
    case 201:
        return "Created";
    case 204:
        return "No Content";
    case 304:
        return "Not Modified";
    case 404:
        return "Not Found";
    case 409:
        return "Conflict";
    default:
        return "Internal Server Error";
    }
}

std::string answer_head(int status, std::string_view more) {
    return fmt::format(
        "HTTP/1.1 {} {}\r\nApi-Version: 1.45\r\nDocker-Experimental: false\r\nOstype: linux\r\n"
        "Server: Docker/26.1.5 (linux)\r\n{}\r\n",
        status, reason(status), more);
}

} // namespace

Connection::Connection(asio::ip::tcp::socket socket, Way& way, Counters& counters, HostCount& count)
    : socket_(std::move(socket)), way_(way), counters_(counters), count_(count),
      first_answer_(Clock::now() + way.round_trip) {
    counters_.connected(count_);
    boost::system::error_code ignored;
    ignored = socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    ignored = socket_.non_blocking(true, ignored);
}

void Connection::leave() {
    if (!std::exchange(left_, true)) {
        counters_.disconnected(count_);
    }
}

// Into a buffer that all connections share, once there is something: most of them are idle, and there are
// thousands.
Task<bool> Connection::fill() {
    static std::array<char, read_size> bytes;
    while (true) {
        auto [error] = co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, quietly);
        const auto count = error ? 0 : socket_.read_some(asio::buffer(bytes), error);
        if (error == asio::error::would_block) {
            continue;
        }
        buffer_.append(bytes.data(), count);
        count_.bytes_in += count;
        if (error) {
            gone_ = true;
            leave();
        }
        filled_ = std::max(way_.to_engine(count), first_answer_ + way_.round_trip / 2);
        co_return !error;
    }
}

Task<std::optional<Request>> Connection::read_request() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (buffer_.size() > longest_head || !co_await fill()) {
            co_return std::nullopt;
        }
    }
    auto request = parse_head(std::string_view(buffer_).substr(0, end));
    buffer_.erase(0, end + 4);
    if (request) {
        request->arrived = filled_; // pipelined ones have come together
    }
    co_return request;
}

Task<bool> Connection::read_body(const Request& request, std::function<void(std::string_view)> take) {
    if (request.chunked) {
        co_return co_await read_chunked(std::move(take));
    }
    for (auto left = request.length; left > 0;) {
        if (buffer_.empty()) {
            if (!co_await fill()) {
                co_return false;
            }
            co_await wait_until(filled_ - taken_ahead);
        }
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer_.size()));
        take(std::string_view(buffer_).substr(0, count));
        buffer_.erase(0, count);
        left -= count;
    }
    co_await wait_until(filled_);
    co_return true;
}

Task<bool> Connection::read_chunked(std::function<void(std::string_view)> take) {
    while (true) {
        std::size_t end = 0;
        while ((end = buffer_.find("\r\n")) == std::string::npos) {
            if (!co_await fill()) {
                co_return false;
            }
        }
        std::size_t size = 0;
        std::from_chars(buffer_.data(), buffer_.data() + end, size, 16);
        while (buffer_.size() < end + 2 + size + 2) {
            if (!co_await fill()) {
                co_return false;
            }
            co_await wait_until(filled_ - taken_ahead);
        }
        take(std::string_view(buffer_).substr(end + 2, size));
        buffer_.erase(0, end + 2 + size + 2);
        if (size == 0) {
            co_await wait_until(filled_);
            co_return true;
        }
    }
}

Task<std::string> Connection::read_body(const Request& request) {
    std::string body;
    (void)co_await read_body(request, [&](std::string_view bytes) { body += bytes; });
    co_return body;
}

Task<bool> Connection::write(std::string bytes) {
    if (way_.silent) {
        AsyncEvent never(co_await asio::this_coro::executor);
        co_await never.wait();
    }
    const auto [error, count] = co_await asio::async_write(socket_, asio::buffer(bytes), quietly);
    count_.bytes_out += count;
    gone_ = gone_ || error;
    co_return !error;
}

Task<bool> Connection::send_timed(std::string bytes) {
    co_await wait_until(way_.to_client(bytes.size()));
    co_return co_await write(std::move(bytes));
}

Task<bool> Connection::answer(int status, std::string body, const std::string& type) {
    if (status == 204 || status == 304) {
        co_return co_await send_timed(answer_head(status, ""));
    }
    co_return co_await send_timed(
        answer_head(status, fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", type, body.size())) +
        body);
}

Task<bool> Connection::answer(int status, const nlohmann::json& body) {
    co_return co_await answer(status, body.is_null() ? std::string() : body.dump() + "\n",
                              "application/json");
}

Task<bool> Connection::fail(int status, const std::string& message) {
    co_return co_await answer(status, nlohmann::json{{"message", message}});
}

Task<bool> Connection::begin_chunks(int status, const std::string& type) {
    co_return co_await send_timed(
        answer_head(status, fmt::format("Content-Type: {}\r\nTransfer-Encoding: chunked\r\n", type)));
}

Task<bool> Connection::chunk(std::string bytes) {
    co_return co_await send_timed(fmt::format("{:x}\r\n", bytes.size()) + bytes + "\r\n");
}

Task<bool> Connection::begin_stream(const Request& request) {
    is_stream_ = true;
    const bool upgrade = request.headers.contains("upgrade");
    co_return co_await send_timed(std::string(upgrade ? "HTTP/1.1 101 UPGRADED\r\n" : "HTTP/1.1 200 OK\r\n") +
                                  "Content-Type: application/vnd.docker.raw-stream\r\n" +
                                  (upgrade ? "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n" : "\r\n"));
}

Task<std::string> Connection::read_raw() {
    if (buffer_.empty()) {
        const bool was_there = !gone_;
        if (!co_await fill()) {
            gone_ = !was_there; // the end of one direction is not the end of the other
        }
    }
    co_return std::exchange(buffer_, {});
}

void Connection::finish() {
    boost::system::error_code ignored;
    ignored = socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Connection::reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    boost::system::error_code ignored;
    ignored = socket_.close(ignored);
    gone_ = true;
    leave();
}

void hear_out(std::shared_ptr<Connection> connection, std::function<void()> then) {
    const auto hear = [](std::shared_ptr<Connection> from, std::function<void()> at_end) -> Task<void> {
        while (!(co_await from->read_raw()).empty()) {
        }
        if (at_end) {
            at_end();
        }
    };
    connection->be_stream();
    const auto executor = connection->executor();
    asio::co_spawn(executor, hear(std::move(connection), std::move(then)), asio::detached);
}

std::string stream_frame(int stream, std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::string frame{static_cast<char>(stream), 0, 0, 0};
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        frame += static_cast<char>(size >> shift);
    }
    return frame.append(bytes);
}

} // namespace dockdist::scale

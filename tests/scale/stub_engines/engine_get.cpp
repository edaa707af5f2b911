#include "scale/stub_engines/engine_get.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace dockdist::scale {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view scheme = "http://";

} // namespace

std::optional<EngineUrl> parse_engine_url(const std::string& text) {
    const auto slash = text.find('/', scheme.size());
    const auto colon = text.find(':', scheme.size());
    EngineUrl url;
    if (!text.starts_with(scheme) || slash == std::string::npos || colon > slash ||
        std::from_chars(text.data() + colon + 1, text.data() + slash, url.port).ptr != text.data() + slash) {
        return std::nullopt;
    }
    url.address = text.substr(scheme.size(), colon - scheme.size());
    url.path = text.substr(slash);
    return url;
}

Task<std::string> EngineGet::begin(World& world, const Host& host, EngineUrl url, std::string more) {
    boost::system::error_code failed;
    const auto address = asio::ip::make_address_v4(url.address, failed);
    if (failed) {
        co_return fmt::format("dial tcp: lookup {}: no such host", url.address);
    }
    {
        const InNamespace there(world.fabric.network_of(host.number), world.fabric.own());
        socket_.emplace(world.io, tcp::v4());
    }
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(url.port));
    if (const auto [error] = co_await socket_->async_connect(endpoint, no_throw); error) {
        co_return fmt::format("Get \"{}{}:{}{}\": dial tcp {}:{}: connect: {}", scheme, url.address, url.port,
                              url.path, url.address, url.port, error.message());
    }
    const auto request = fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: docker/26.1.5\r\n"
                                     "{}Connection: close\r\n\r\n",
                                     url.path, url.address, url.port, more);
    (void)co_await asio::async_write(*socket_, asio::buffer(request), no_throw);
    std::size_t end = 0;
    while ((end = ready_.find("\r\n\r\n")) == std::string::npos) {
        if (!co_await read_some()) {
            co_return fmt::format("Get \"{}{}:{}{}\": EOF", scheme, url.address, url.port, url.path);
        }
    }
    const auto head = ready_.substr(0, end + 2);
    ready_.erase(0, end + 4);
    constexpr std::string_view length_name = "\r\nContent-Length: ";
    const auto length = head.find(length_name);
    if (!head.starts_with("HTTP/1.1 200") || length == std::string::npos) {
        co_return fmt::format("failed to GET {}{}:{}{} with status {}", scheme, url.address, url.port,
                              url.path, head.substr(9, head.find("\r\n") - 9));
    }
    std::from_chars(head.data() + length + length_name.size(), head.data() + head.size(), left_);
    co_return "";
}

Task<std::string> EngineGet::read(std::function<void(std::string_view)> take) {
    while (left_ > 0) {
        if (ready_.empty() && !co_await read_some()) {
            co_return "unexpected EOF";
        }
        const auto count = std::min<std::uint64_t>(left_, ready_.size());
        take(std::string_view(ready_).substr(0, count));
        ready_.clear();
        left_ -= count;
    }
    co_return "";
}

// Into a buffer that all share, once there is something: they are many.
Task<bool> EngineGet::read_some() {
    static std::array<char, 256U << 10U> bytes;
    socket_->non_blocking(true);
    while (true) {
        auto [error] = co_await socket_->async_wait(tcp::socket::wait_read, no_throw);
        const auto count = error ? 0 : socket_->read_some(asio::buffer(bytes), error);
        if (error == asio::error::would_block) {
            continue;
        }
        ready_.append(bytes.data(), count);
        co_return !error;
    }
}

} // namespace dockdist::scale

// A GET that a host's engine makes by itself, to another host or to its own loopback: of a layer from a
// registry, of a tar that it is to import.
#pragma once

#include "scale/stub_engines/world.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::scale {

struct EngineUrl {
    std::string address{}, path{};
    int port = 80;
};
// Of http://ADDRESS:PORT/PATH.
std::optional<EngineUrl> parse_engine_url(const std::string& text);

class EngineGet {
public:
    // `more`: headers, each with its end of line. What went wrong, as an engine says it, or "".
    Task<std::string> begin(World& world, const Host& host, EngineUrl url, std::string more);
    std::uint64_t size() const { return left_; } // of the body, before it is read
    Task<std::string> read(std::function<void(std::string_view)> take);

private:
    Task<bool> read_some();
    std::optional<boost::asio::ip::tcp::socket> socket_{};
    std::string ready_{}; // bytes that came and are not taken yet
    std::uint64_t left_ = 0;
};

} // namespace dockdist::scale

#include "shared/wire/tunnel.hpp"

#include "shared/wire/fields.hpp"
#include "shared/wire/little_endian.hpp"

#include <utility>

namespace dockdist::wire {
namespace {

constexpr std::size_t tunnel_window_size = 4;
constexpr std::size_t longest_host = 255;
constexpr std::size_t longest_socket_path = 107;

constexpr Words<TunnelFailure::Kind, 8> failure_words{{
    {TunnelFailure::Kind::other, "other"},
    {TunnelFailure::Kind::refused, "refused"},
    {TunnelFailure::Kind::unreachable, "unreachable"},
    {TunnelFailure::Kind::timeout, "timeout"},
    {TunnelFailure::Kind::unknown_name, "unknown_name"},
    {TunnelFailure::Kind::too_many, "too_many"},
    {TunnelFailure::Kind::no_socket, "no_socket"},
    {TunnelFailure::Kind::denied, "denied"},
}};

Error damaged_tunnel(std::string message) {
    return Error{.kind = ErrorKind::protocol, .message = std::move(message)};
}

} // namespace

void fields_of(auto& fields, Of<TunnelAsk> auto& ask) {
    fields.required("lease_ms", ask.lease_ms, 1, any_count / 2);
    fields.omit_empty("on_host", ask.on_host);
    fields.when(ask.on_host, "own_peers", ask.own_peers);
}

std::string tunnel_ask(const TunnelAsk& ask) {
    return text_of(ask);
}

Result<TunnelAsk> parse_tunnel_ask(std::string_view text) {
    return parse<TunnelAsk>(text, "what a tunnel asks for");
}

void fields_of(auto& fields, Of<TunnelTarget> auto& target) {
    fields("host", target.host, longest_host);
    fields.required("port", target.port, target.is_path() ? 0 : 1, target.is_path() ? 0 : highest_port);
    fields.check(!target.is_path() || target.host.size() <= longest_socket_path,
                 "\"host\" is longer than a unix socket's path may be");
    fields.check(target.host.find('\0') == std::string::npos, "\"host\" is not a host's name");
}

std::string tunnel_target(const TunnelTarget& target) {
    return text_of(target);
}

Result<TunnelTarget> parse_tunnel_target(std::string_view text) {
    return parse<TunnelTarget>(text, "a tunnel's target");
}

void fields_of(auto& fields, Of<TunnelFailure> auto& failure) {
    fields("kind", named_if_known(failure.kind, failure_words));
    fields("message", failure.message);
}

std::string tunnel_failure(const TunnelFailure& failure) {
    constexpr std::size_t longest_message = 512; // six bytes each, as JSON has a control character
    return text_of(TunnelFailure{failure.kind, failure.message.substr(0, longest_message)});
}

Result<TunnelFailure> parse_tunnel_failure(std::string_view text) {
    return parse<TunnelFailure>(text, "a tunnel's failure");
}

void append_tunnel_frame(std::string& out, TunnelKind kind, std::uint32_t channel, std::string_view payload) {
    out += static_cast<char>(kind);
    put_little_endian(out, channel);
    put_little_endian(out, static_cast<std::uint32_t>(payload.size()));
    out += payload;
}

Status TunnelDecoder::read_header() {
    const std::string_view header(held_);
    kind_ = static_cast<TunnelKind>(header[0]);
    channel_ = static_cast<std::uint32_t>(get_little_endian(header.substr(1, 4)));
    left_ = get_little_endian(header.substr(5, 4));
    std::size_t least = 0;
    std::size_t most = 0;
    switch (kind_) {
    case TunnelKind::data:
        least = 1;
        most = max_tunnel_data;
        break;
    case TunnelKind::open:
    case TunnelKind::fail:
        most = max_tunnel_text;
        break;
    case TunnelKind::window:
        least = most = tunnel_window_size;
        break;
    case TunnelKind::hello:
    case TunnelKind::accept:
    case TunnelKind::end:
    case TunnelKind::reset:
    case TunnelKind::ping:
        break;
    default:
        return damaged_tunnel("a tunnel's frame of unknown kind " +
                              std::to_string(static_cast<unsigned char>(header[0])));
    }
    if (left_ < least || left_ > most) {
        return damaged_tunnel("a tunnel's frame of " + std::to_string(left_) + " bytes");
    }
    held_.clear();
    in_frame_ = true;
    return ok;
}

Result<std::optional<TunnelPiece>> TunnelDecoder::next(std::string_view& input) {
    if (failed_) {
        return *failed_;
    }
    if (std::exchange(given_, false)) {
        held_.clear();
    }
    const auto take = [&](std::size_t most) {
        const auto part = input.substr(0, most);
        input.remove_prefix(part.size());
        return part;
    };
    if (!in_frame_) {
        held_ += take(tunnel_header_size - held_.size());
        if (held_.size() < tunnel_header_size) {
            return std::optional<TunnelPiece>{};
        }
        if (const auto read = read_header(); !read) {
            failed_ = read.error();
            return *failed_;
        }
    }
    const auto part = take(left_);
    left_ -= part.size();
    in_frame_ = left_ > 0;
    if (kind_ == TunnelKind::data) {
        return part.empty() ? std::optional<TunnelPiece>{}
                            : std::optional(TunnelPiece{.kind = kind_, .channel = channel_, .bytes = part});
    }
    held_ += part;
    if (in_frame_) {
        return std::optional<TunnelPiece>{};
    }
    given_ = true;
    return std::optional(TunnelPiece{.kind = kind_, .channel = channel_, .bytes = held_});
}

} // namespace dockdist::wire

#include "shared/tunnel/tunnel_channels.hpp"

#include "shared/wire/little_endian.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dockdist {
namespace {

using wire::TunnelKind;
using Event = TunnelChannels::Event;

constexpr std::uint64_t most_credit = std::uint64_t{1} << 32U;

Error broken_rule(const wire::TunnelPiece& piece, const std::string& what) {
    return Error{.kind = ErrorKind::protocol,
                 .message = "a tunnel's frame '" + std::string(1, static_cast<char>(piece.kind)) +
                            "' of channel " + std::to_string(piece.channel) + " " + what};
}

bool is_of_node(TunnelKind kind) {
    return kind == TunnelKind::hello || kind == TunnelKind::accept || kind == TunnelKind::fail;
}

} // namespace

Status TunnelChannels::take(std::string_view bytes, const std::function<void(const Event&)>& on) {
    while (true) {
        const auto piece = decoder_.next(bytes);
        TRY(piece);
        if (!*piece) {
            return ok;
        }
        if (auto taken = take_piece(**piece, on); !taken) {
            return taken;
        }
    }
}

Status TunnelChannels::take_piece(const wire::TunnelPiece& piece,
                                  const std::function<void(const Event&)>& on) {
    const bool client = side_ == Side::client;
    if (client ? piece.kind == TunnelKind::open : is_of_node(piece.kind)) {
        return broken_rule(piece, "comes from the wrong side");
    }
    if (client && !greeted_ && piece.kind != TunnelKind::hello) {
        return broken_rule(piece, "comes before the node's first word");
    }
    if (piece.kind == TunnelKind::hello) {
        if (std::exchange(greeted_, true)) {
            return broken_rule(piece, "comes twice");
        }
        on({.kind = Event::Kind::hello});
        return ok;
    }
    if (piece.kind == TunnelKind::ping) {
        answered_ = client;
        if (!client && output_.empty()) { // else it hears something anyway, and many pings cost nothing
            ping();
        }
        return ok;
    }
    if (piece.kind == TunnelKind::open) {
        return take_open(piece, on);
    }
    const auto found = channels_.find(piece.channel);
    if (found == channels_.end()) {
        const bool was_there = piece.channel > 0 && piece.channel <= last_;
        return was_there ? Status(ok) : broken_rule(piece, "is about none that was opened");
    }
    return is_of_node(piece.kind) ? take_answer(found, piece, on) : take_flow(found, piece, on);
}

Status TunnelChannels::take_open(const wire::TunnelPiece& piece,
                                 const std::function<void(const Event&)>& on) {
    auto target = wire::parse_tunnel_target(piece.bytes);
    TRY(target);
    if (last_ == std::numeric_limits<ChannelId>::max() || piece.channel != last_ + 1) {
        return broken_rule(piece, "is out of order");
    }
    last_ = piece.channel;
    if (channels_.size() >= most_channels) {
        wire::append_tunnel_frame(output_, TunnelKind::fail, piece.channel,
                                  wire::tunnel_failure({.kind = wire::TunnelFailure::Kind::too_many,
                                                        .message = std::to_string(most_channels) +
                                                                   " connections are open already"}));
        return ok;
    }
    channels_[piece.channel];
    on({.kind = Event::Kind::open, .channel = piece.channel, .target = std::move(*target)});
    return ok;
}

Status TunnelChannels::take_answer(Channels::iterator found, const wire::TunnelPiece& piece,
                                   const std::function<void(const Event&)>& on) {
    if (found->second.accepted) {
        return broken_rule(piece, "comes after it was accepted");
    }
    if (piece.kind == TunnelKind::accept) {
        found->second.accepted = true;
        on({.kind = Event::Kind::accepted, .channel = piece.channel});
        return ok;
    }
    auto failure = wire::parse_tunnel_failure(piece.bytes);
    TRY(failure);
    forget(found);
    on({.kind = Event::Kind::failed, .channel = piece.channel, .failure = std::move(*failure)});
    return ok;
}

Status TunnelChannels::take_flow(Channels::iterator found, const wire::TunnelPiece& piece,
                                 const std::function<void(const Event&)>& on) {
    auto& channel = found->second;
    const auto id = piece.channel;
    if (piece.kind == TunnelKind::reset) {
        forget(found);
        on({.kind = Event::Kind::gone, .channel = id});
        return ok;
    }
    if (!channel.accepted) {
        return broken_rule(piece, "comes before it was accepted");
    }
    if (piece.kind == TunnelKind::window) {
        const auto more = wire::get_little_endian(piece.bytes);
        if (more == 0 || channel.may_send + more > most_credit) {
            return broken_rule(piece, "opens the window by " + std::to_string(more));
        }
        channel.may_send += more;
        on({.kind = Event::Kind::window, .channel = id});
        return ok;
    }
    if (channel.end_came) {
        return broken_rule(piece, "comes after its end");
    }
    if (piece.kind == TunnelKind::end) {
        channel.end_came = true;
        on({.kind = Event::Kind::end, .channel = id});
        forget_ended(id);
        return ok;
    }
    if (piece.bytes.size() > channel.may_come) {
        return broken_rule(piece, "is more than its window");
    }
    channel.may_come -= piece.bytes.size();
    on({.kind = Event::Kind::data, .channel = id, .bytes = piece.bytes});
    return ok;
}

void TunnelChannels::forget(Channels::iterator found) {
    grown_ -= found->second.window - wire::first_tunnel_window;
    channels_.erase(found);
}

void TunnelChannels::forget_ended(ChannelId id) {
    const auto found = channels_.find(id);
    if (found != channels_.end() && found->second.ended && found->second.end_came) {
        forget(found);
    }
}

void TunnelChannels::hello() {
    wire::append_tunnel_frame(output_, TunnelKind::hello, 0);
}

void TunnelChannels::ping() {
    wire::append_tunnel_frame(output_, TunnelKind::ping, 0);
}

ChannelId TunnelChannels::open(const wire::TunnelTarget& target) {
    ++last_;
    channels_[last_];
    wire::append_tunnel_frame(output_, TunnelKind::open, last_, wire::tunnel_target(target));
    return last_;
}

void TunnelChannels::accept(ChannelId id) {
    if (const auto found = channels_.find(id); found != channels_.end()) {
        found->second.accepted = true;
        wire::append_tunnel_frame(output_, TunnelKind::accept, id);
    }
}

void TunnelChannels::fail(ChannelId id, const wire::TunnelFailure& why) {
    if (const auto found = channels_.find(id); found != channels_.end()) {
        forget(found);
        wire::append_tunnel_frame(output_, TunnelKind::fail, id, wire::tunnel_failure(why));
    }
}

std::size_t TunnelChannels::room(ChannelId id) const {
    const auto found = channels_.find(id);
    return found == channels_.end() || !found->second.accepted || found->second.ended
               ? 0
               : static_cast<std::size_t>(found->second.may_send);
}

void TunnelChannels::send(ChannelId id, std::string_view bytes) {
    const auto found = channels_.find(id);
    if (found == channels_.end() || found->second.ended) {
        return;
    }
    found->second.may_send -= bytes.size();
    while (!bytes.empty()) {
        const auto part = bytes.substr(0, wire::max_tunnel_data);
        wire::append_tunnel_frame(output_, TunnelKind::data, id, part);
        bytes.remove_prefix(part.size());
    }
}

void TunnelChannels::end(ChannelId id) {
    const auto found = channels_.find(id);
    if (found == channels_.end() || std::exchange(found->second.ended, true)) {
        return;
    }
    wire::append_tunnel_frame(output_, TunnelKind::end, id);
    forget_ended(id);
}

void TunnelChannels::reset(ChannelId id) {
    if (const auto found = channels_.find(id); found != channels_.end()) {
        forget(found);
        wire::append_tunnel_frame(output_, TunnelKind::reset, id);
    }
}

void TunnelChannels::consumed(ChannelId id, std::size_t bytes, bool all) {
    const auto found = channels_.find(id);
    if (found == channels_.end() || found->second.end_came) {
        return;
    }
    auto& channel = found->second;
    channel.passed_on += bytes;
    if (channel.passed_on < channel.window / 2) {
        return;
    }
    auto more = std::exchange(channel.passed_on, 0);
    if (all && channel.window * 2 <= largest_tunnel_window && grown_ + channel.window <= most_tunnel_growth) {
        more += channel.window;
        grown_ += channel.window;
        channel.window *= 2;
    }
    channel.may_come += more;
    std::string payload;
    wire::put_little_endian(payload, static_cast<std::uint32_t>(more));
    wire::append_tunnel_frame(output_, TunnelKind::window, id, payload);
}

} // namespace dockdist

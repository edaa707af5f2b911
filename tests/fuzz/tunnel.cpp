// Both ends of a tunnel, each against whatever the other side says: the frames, and who may say what when.
#include "shared/wire/tunnel.hpp"

#include "fuzz/fuzz.hpp"
#include "shared/tunnel/tunnel_channels.hpp"

#include <array>
#include <map>

namespace {

using namespace dockdist;
using Event = TunnelChannels::Event;

// What one side makes of a stream: the events, and what it answers. Some of the channels are read, some are
// not.
std::string story(TunnelChannels::Side side, std::string_view bytes, bool in_pieces) {
    TunnelChannels channels(side);
    std::string told;
    std::map<ChannelId, std::uint64_t> kept;
    bool failed = false;
    if (side == TunnelChannels::Side::client) {
        for (int i = 0; i < 3; ++i) {
            channels.open({.host = "", .port = 80 + i});
        }
    }
    const auto on = [&](const Event& event) {
        if (event.kind == Event::Kind::open) {
            event.channel % 3 == 0 ? channels.fail(event.channel, {}) : channels.accept(event.channel);
        } else if (event.kind == Event::Kind::data) {
            kept[event.channel] += event.bytes.size();
            fuzz::require(kept[event.channel] <= largest_tunnel_window,
                          "a channel keeps no more than its window");
            if (event.channel % 2 == 0) {
                channels.consumed(event.channel, event.bytes.size(), true);
                kept[event.channel] -= event.bytes.size();
            }
            told += std::string(event.bytes);
            return;
        } else if (event.kind == Event::Kind::end) {
            channels.send(event.channel,
                          std::string(std::min<std::size_t>(channels.room(event.channel), 5), 'x'));
            channels.end(event.channel);
        }
        told +=
            "<" + std::to_string(static_cast<int>(event.kind)) + ":" + std::to_string(event.channel) + ">";
    };
    const auto feed = [&](std::string_view piece) {
        if (!failed) {
            const auto taken = channels.take(piece, on);
            failed = !taken;
            told += taken ? "" : "error: " + taken.error().message;
        }
    };
    in_pieces ? fuzz::in_pieces(bytes, feed) : feed(bytes);
    fuzz::require(channels.count() <= most_channels, "there are so many channels at most");
    return told;
}

void side_of(TunnelChannels::Side side, std::string_view bytes) {
    fuzz::require_equal(story(side, bytes, false), story(side, bytes, true),
                        "a tunnel tells the same however its stream is sliced");
}

template <class Parse, class Write>
void again(std::string_view text, Parse parse, Write write) {
    if (const auto first = parse(text)) {
        const auto line = write(*first);
        const auto second = parse(std::string_view(line));
        fuzz::require(second.has_value() && write(*second) == line,
                      "what was read and sent again says the same");
    }
}

constexpr std::array<fuzz::Read, 3> tunnel_kinds{
    [](std::string_view bytes) { side_of(TunnelChannels::Side::client, bytes); },
    [](std::string_view bytes) { side_of(TunnelChannels::Side::node, bytes); },
    [](std::string_view text) {
        again(text, wire::parse_tunnel_ask, wire::tunnel_ask);
        again(text, wire::parse_tunnel_target, wire::tunnel_target);
        again(text, wire::parse_tunnel_failure, wire::tunnel_failure);
    },
};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, tunnel_kinds);
}

std::vector<std::string> fuzz::seeds() {
    using Kind = wire::TunnelKind;
    std::string node;
    wire::append_tunnel_frame(node, Kind::hello, 0);
    wire::append_tunnel_frame(node, Kind::ping, 0);
    wire::append_tunnel_frame(node, Kind::accept, 2);
    wire::append_tunnel_frame(node, Kind::fail, 1, wire::tunnel_failure({.message = "m"}));
    wire::append_tunnel_frame(node, Kind::data, 2, "some");
    wire::append_tunnel_frame(node, Kind::window, 2, std::string("\1\0\1\0", 4));
    wire::append_tunnel_frame(node, Kind::end, 2);
    wire::append_tunnel_frame(node, Kind::reset, 3);
    std::string client;
    for (ChannelId id = 1; id < 4; ++id) {
        wire::append_tunnel_frame(client, Kind::open, id, wire::tunnel_target({.host = "db", .port = 1}));
    }
    wire::append_tunnel_frame(client, Kind::ping, 0);
    wire::append_tunnel_frame(client, Kind::data, 1, "some");
    wire::append_tunnel_frame(client, Kind::end, 1);
    return {of_kind(0, node), of_kind(1, client), of_kind(2, wire::tunnel_ask({.lease_ms = 5})),
            of_kind(2, wire::tunnel_target({.host = "db", .port = 1})),
            of_kind(2, wire::tunnel_failure({.kind = wire::TunnelFailure::Kind::refused, .message = "m"}))};
}

// One side's end of a tunnel (shared/wire/tunnel.hpp): the channels, their windows, and who may say what
// when. Fed with what comes, it tells the owner what to do; what the owner says becomes frames to be sent. No
// I/O: the same for the client and for the node, each against whatever the other side says.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/tunnel.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace dockdist {

using ChannelId = std::uint32_t;

// What a side promises to keep: of a channel at most its window, and windows that have grown at most so much
// together.
inline constexpr std::size_t most_channels = 1024;
inline constexpr std::uint64_t largest_tunnel_window = 8U << 20U;
inline constexpr std::uint64_t most_tunnel_growth = 64U << 20U;

class TunnelChannels {
public:
    enum class Side { client, node };
    struct Event {
        enum class Kind {
            hello,    // the client's: the node speaks
            open,     // the node's: connect to `target`; then accept() or fail()
            accepted, // the client's: data may flow
            failed,   // the client's: `failure`; the channel is gone
            data,     // `bytes`, to be passed on, and then consumed()
            window,   // room() has grown
            end,      // no more data comes
            gone,     // the other side has given the channel up, with what was not passed on
        };
        Kind kind = Kind::gone;
        ChannelId channel = 0;
        std::string_view bytes{}; // valid during the call
        wire::TunnelTarget target{};
        wire::TunnelFailure failure{};
    };

    explicit TunnelChannels(Side side) : side_(side) {}

    // `on` is called for each event in turn, and may say something. ErrorKind::protocol: the other side
    // breaks the rules; the tunnel is of no use any more.
    Status take(std::string_view bytes, const std::function<void(const Event&)>& on);

    // --- what the owner says. Of a channel that is gone: nothing.
    void hello();                                            // node
    void ping();                                             // client; the node answers by itself
    ChannelId open(const wire::TunnelTarget& target);        // client, below most_channels
    void accept(ChannelId id);                               // node
    void fail(ChannelId id, const wire::TunnelFailure& why); // node
    std::size_t room(ChannelId id) const;                    // bytes that may be sent now
    void send(ChannelId id, std::string_view bytes);         // at most room()
    void end(ChannelId id);                                  // no more is sent
    void reset(ChannelId id);
    // So much of what came was passed on. `all`: nothing is left of it, so its reader is fast enough for a
    // larger window.
    void consumed(ChannelId id, std::size_t bytes, bool all);

    bool has(ChannelId id) const { return channels_.contains(id); }
    std::size_t count() const { return channels_.size(); }
    bool answered() const { return answered_; } // client: the node has answered a ping

    // Frames to be sent, in order.
    std::size_t waiting() const { return output_.size(); }
    std::string take_output() { return std::exchange(output_, {}); }
    // The same, with the room that `into` has for what comes next.
    void take_output(std::string& into) {
        into.clear();
        into.swap(output_);
    }

private:
    struct Channel {
        bool accepted = false;
        bool ended = false; // by us
        bool end_came = false;
        std::uint64_t may_send = wire::first_tunnel_window;
        std::uint64_t may_come = wire::first_tunnel_window;
        std::uint64_t window = wire::first_tunnel_window; // what may_come goes back to when all was passed on
        std::uint64_t passed_on = 0;                      // since the last 'W'
    };
    using Channels = std::map<ChannelId, Channel>;

    Status take_piece(const wire::TunnelPiece& piece, const std::function<void(const Event&)>& on);
    Status take_open(const wire::TunnelPiece& piece, const std::function<void(const Event&)>& on);
    Status take_answer(Channels::iterator found, const wire::TunnelPiece& piece,
                       const std::function<void(const Event&)>& on);
    Status take_flow(Channels::iterator found, const wire::TunnelPiece& piece,
                     const std::function<void(const Event&)>& on);
    void forget(Channels::iterator found);
    void forget_ended(ChannelId id);

    Side side_;
    wire::TunnelDecoder decoder_{};
    Channels channels_{};
    std::string output_{};
    std::uint64_t grown_ = 0; // of all windows, beyond the first one
    ChannelId last_ = 0;      // the highest number so far
    bool greeted_ = false;
    bool answered_ = false;
};

} // namespace dockdist

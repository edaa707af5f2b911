// How many connections pass over one stream, the stdin and stdout of `dockdist-init tunnel ASK`: those of
// `forward` over an exec in a node, and those to a host's engine over a step of Slurm on that host. Frames:
//
//   0  u8   kind
//   1  u32  channel, little-endian: one connection; 0 where a frame is about none
//   5  u32  length, little-endian
//   9  …    payload
//
//   'H' hello   node    first of all; the client says nothing before
//   'O' open    client  {"host","port"}: connect to it; channels are numbered 1, 2, 3 …, none twice
//   'A' accept  node    the connection is there; data may flow
//   'F' fail    node    {"kind","message"}: it is not, and the channel is gone
//   'D' data    both    1 to max_tunnel_data bytes, no more than the other side's window has left
//   'W' window  both    u32: so many more bytes may be sent
//   'E' end     both    no more data comes from here; the other way goes on. After both the channel is gone
//   'R' reset   both    the channel is gone, and what has not arrived is lost
//   'P' ping    both    the client's holds the lease, as in shared/wire/exec_session.hpp; the node answers
//   with its
//                       own, unless something else is on its way. One that never does is of an earlier
//                       dockdist, and its silence means nothing
//
// Each channel's window is first_tunnel_window bytes at first, each way, so that who reads slowly holds up
// its own channel alone. Frames of a channel that is gone may still be on their way, and mean nothing.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::wire {

inline constexpr std::size_t tunnel_header_size = 9;
inline constexpr std::uint32_t max_tunnel_data = 1U << 18U;
inline constexpr std::uint32_t max_tunnel_text = 4U << 10U; // of 'O' and 'F'
inline constexpr std::uint32_t first_tunnel_window = 128U << 10U;

struct TunnelAsk {
    std::int64_t lease_ms = 0; // above 0
    // On a host itself, for its engine: runs as whoever has started it and reaches unix sockets alone. In a
    // container it reaches TCP alone, as the user of jobs: a port that somebody forwards must not lead to an
    // engine's or an agent's socket by a name that looks like a path.
    bool on_host = false;
    bool own_peers = false; // on a host: only sockets on which its own user listens; /tmp is everybody's
};
std::string tunnel_ask(const TunnelAsk& ask);
Result<TunnelAsk> parse_tunnel_ask(std::string_view text);

struct TunnelTarget {
    // A name or an address, as the node sees it; empty: the node's own loopback, of either family. One that
    // begins with '/' is a unix socket's path, and its port is 0.
    std::string host{};
    int port = 0;
    bool is_path() const { return host.starts_with('/'); }
    bool operator==(const TunnelTarget&) const = default;
};
std::string tunnel_target(const TunnelTarget& target);
Result<TunnelTarget> parse_tunnel_target(std::string_view text);

struct TunnelFailure {
    enum class Kind { other, refused, unreachable, timeout, unknown_name, too_many, no_socket, denied };
    Kind kind = Kind::other;
    std::string message{}; // the node's words: printable() before people see them
    bool operator==(const TunnelFailure&) const = default;
};
std::string tunnel_failure(const TunnelFailure& failure);
Result<TunnelFailure> parse_tunnel_failure(std::string_view text); // an unknown kind is `other`

enum class TunnelKind : std::uint8_t {
    hello = 'H',
    open = 'O',
    accept = 'A',
    fail = 'F',
    data = 'D',
    window = 'W',
    end = 'E',
    reset = 'R',
    ping = 'P',
};

// Puts a frame behind `out`; the payload keeps to its kind's limit.
void append_tunnel_frame(std::string& out, TunnelKind kind, std::uint32_t channel,
                         std::string_view payload = {});

// A frame, or of a data frame the part that has come: data passes without being kept.
struct TunnelPiece {
    TunnelKind kind = TunnelKind::ping;
    std::uint32_t channel = 0;
    std::string_view bytes{}; // valid until the next call
};

class TunnelDecoder {
public:
    // The next piece of `input`, which loses at its front what was used; nothing once all of it was. Errors
    // (protocol) are final: a kind or length that is not of the protocol.
    Result<std::optional<TunnelPiece>> next(std::string_view& input);

private:
    Status read_header();

    std::string held_{}; // of a header or of a payload that is kept until it is whole
    TunnelKind kind_ = TunnelKind::ping;
    std::uint32_t channel_ = 0;
    std::size_t left_ = 0;  // of the payload
    bool in_frame_ = false; // the header was read
    bool given_ = false;    // held_ was given out
    std::optional<Error> failed_{};
};

} // namespace dockdist::wire

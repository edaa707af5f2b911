// How `exec` and `ssh` hold what they start in a node: one exec of `dockdist-init with-environment --session
// ASK`, which stays beside the command. Its stdout and stderr are the command's bytes; its stdin is frames,
// so that a client that is gone differs from one whose own stdin has ended:
//
//   0  u8   kind
//   1  u32  length, little-endian, at most max_session_payload
//   5  …    payload
//
//   'I' input   bytes for the command's stdin, or for its terminal
//   'E' end     of the input; nothing more comes for it
//   'W' window  u16 rows, u16 columns of the client's terminal, little-endian
//   'P' ping    holds the lease
//   'Q' quit    the session is to end: its processes are told, and killed after a grace
//
// The lease. A stdin that ends, or that brings nothing for lease_ms, is a client that is gone: it ends the
// session as 'Q' does. With a lease of 0 nothing but the command's own end does. While the command does not
// take its input, and too much of it waits to hear what comes behind it, the lease stands still.
//
// The terminal is the node's own pty, not the engine's: an engine's takes no frames, and belongs to root.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/unread_bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::wire {

inline constexpr std::uint32_t max_session_payload = 1U << 16U;

struct WindowSize {
    int rows = 0, columns = 0; // 0 to 65535
    bool operator==(const WindowSize&) const = default;
};

struct SessionAsk {
    std::int64_t lease_ms = 0;
    bool input = true; // false: there is none, as if an 'E' had come first
    std::optional<WindowSize> terminal{};
};
std::string session_ask(const SessionAsk& ask);
Result<SessionAsk> parse_session_ask(std::string_view text);

struct SessionFrame {
    enum class Kind : std::uint8_t { input = 'I', end = 'E', window = 'W', ping = 'P', quit = 'Q' };
    Kind kind = Kind::ping;
    std::string input{};
    WindowSize window{};
};
std::string encode(const SessionFrame& frame); // input: at most max_session_payload

class SessionFrameDecoder {
public:
    void feed(std::string_view bytes) { unread_.feed(bytes); }
    // The next whole frame, nothing when more bytes are needed, or ErrorKind::protocol, which is final.
    Result<std::optional<SessionFrame>> next();

private:
    UnreadBytes unread_{};
};

} // namespace dockdist::wire

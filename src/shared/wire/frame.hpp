// The frames in which a node speaks to the client during a job, inside the stdout of one exec, and in which a
// job's output is kept on disk: 24 bytes of header, little-endian, then `length` bytes.
//
//   0  u8   kind      'O' output, 'C' control (JSON), 'P' pong
//   1  u8   stream    1 stdout, 2 stderr; 0 for control
//   2  u16  time      upper 16 bits; when the bytes were read, in milliseconds since 1970 by the node's
//                     clock at the job's start and a steady one from there: it never goes back within a log
//   4  i32  rank      the global rank that wrote it; -1: the launcher itself
//   8  u32  length    at most max_payload
//  12  u32  time      lower 32 bits
//  16  u64  position  of this frame in the job's log, in bytes from its start: what `follow` resumes at.
//                     For control frames that are not in the log: 0
//
// An output frame holds whole bytes as they were read, not whole lines: lines are put together by the client,
// per rank and stream. A follower that asked for the last lines only may be given the rear part of a frame:
// its position is then that much further, so that position + header + length is where the next one stands.
// Only output frames bear a time. A pong's position, where it is not 0, says where the output begins that was
// asked for.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/unread_bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::wire {

inline constexpr std::size_t frame_header_size = 24;
inline constexpr std::uint32_t max_payload = 1U << 20U;
inline constexpr std::int32_t max_rank =
    (1 << 20) - 1; // what bears a higher one, or one below -1, is refused

struct Frame {
    enum class Kind : std::uint8_t { output = 'O', control = 'C', pong = 'P' };
    Kind kind = Kind::control;
    std::uint8_t stream = 0;
    std::int32_t rank = -1;
    std::uint64_t position = 0;
    std::int64_t time_ms = 0; // of output, 48 bits
    std::string payload{};
};

std::string encode(const Frame& frame);

// The header alone, for who keeps or forwards payloads without copying them.
struct FrameHeader {
    Frame::Kind kind = Frame::Kind::control;
    std::uint8_t stream = 0;
    std::int32_t rank = -1;
    std::uint32_t length = 0;
    std::uint64_t position = 0;
    std::int64_t time_ms = 0;
};
std::string encode_header(const FrameHeader& header);
Result<FrameHeader> parse_header(std::string_view bytes); // of at least frame_header_size bytes

// Feed bytes in pieces of any size, take whole frames out. An error (a kind or length that is not of the
// protocol) is final. Never holds more than one frame and what was fed.
class FrameDecoder {
public:
    void feed(std::string_view bytes) { unread_.feed(bytes); }
    // The next whole frame, nothing when more bytes are needed, or ErrorKind::protocol.
    Result<std::optional<Frame>> next();

private:
    UnreadBytes unread_{};
};

} // namespace dockdist::wire

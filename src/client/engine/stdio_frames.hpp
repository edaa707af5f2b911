// The framing of stdout and stderr in one stream (exec and logs without a terminal): 8 bytes {stream, 0, 0,
// 0, u32 big-endian length}, then the bytes. Fed in pieces of any size; no I/O.
#pragma once

#include "client/container/container_engine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

class StdioFrames {
public:
    void feed(std::string_view bytes);
    // Bytes of one stream, as many as are there (a frame need not be whole), at most 64 KiB; nothing when
    // more must be fed first. ErrorKind::protocol, and final, when what was fed is no frame.
    Result<std::optional<ExecStream::Chunk>> next();
    // Whether the stream may end here: not inside a frame.
    bool at_boundary() const { return buffer_.size() == begin_ && left_ == 0; }

private:
    std::string buffer_{};
    std::size_t begin_ = 0;
    std::size_t left_ = 0; // of the current frame
    StdStream stream_ = StdStream::out;
    bool failed_ = false;
};

} // namespace dockdist

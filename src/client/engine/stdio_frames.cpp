#include "client/engine/stdio_frames.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t header_size = 8;
constexpr std::size_t largest_chunk = 64 * 1024;

} // namespace

void StdioFrames::feed(std::string_view bytes) {
    if (begin_ == buffer_.size()) {
        buffer_.clear();
        begin_ = 0;
    } else if (begin_ > largest_chunk) {
        buffer_.erase(0, begin_);
        begin_ = 0;
    }
    buffer_ += bytes;
}

Result<std::optional<ExecStream::Chunk>> StdioFrames::next() {
    Error no_frame{ErrorKind::protocol, "", "the engine's output stream is not framed correctly", ""};
    if (failed_) {
        return no_frame;
    }
    while (left_ == 0) {
        const auto header = std::string_view(buffer_).substr(begin_);
        if (header.size() < header_size) {
            return std::optional<ExecStream::Chunk>();
        }
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(header[i]); };
        // 0 is stdin's number, under which some engines report an error of their own; 3 is the daemon's error
        // stream.
        if (byte(0) > 3 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0) {
            failed_ = true;
            return no_frame;
        }
        stream_ = byte(0) >= 2 ? StdStream::err : StdStream::out;
        left_ = (std::size_t{byte(4)} << 24U) | (std::size_t{byte(5)} << 16U) | (std::size_t{byte(6)} << 8U) |
                byte(7);
        begin_ += header_size;
    }
    const auto count = std::min({left_, buffer_.size() - begin_, largest_chunk});
    if (count == 0) {
        return std::optional<ExecStream::Chunk>();
    }
    ExecStream::Chunk chunk{stream_, buffer_.substr(begin_, count), false};
    begin_ += count;
    left_ -= count;
    return std::optional(std::move(chunk));
}

} // namespace dockdist

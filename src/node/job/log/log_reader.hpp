// Reads a job's log while its supervisor writes it and deletes its oldest segments.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/frame.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist::node {

class LogReader {
public:
    LogReader(std::string folder, std::uint64_t position) : folder_(std::move(folder)), position_(position) {}

    // The next whole frames, about 1 MiB at most; empty: there are no more now. Where the reader is behind
    // what was deleted, it is given a frame that says so, as output of rank -1, and goes on with what is
    // there. Error (protocol): no frame begins at the position.
    Status read(std::string& out);
    std::uint64_t position() const { return position_; } // of what comes next
    bool told_a_gap() const { return told_a_gap_; }      // whether the last read() did

private:
    bool open_segment(std::string& note);
    bool ended_segment() const;

    std::string folder_;
    std::uint64_t position_;
    Fd segment_{};
    std::uint64_t first_ = 0; // of the segment
    bool told_a_gap_ = false;
};

// The positions between which the log is there now.
struct LogExtent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};
LogExtent log_extent(const std::string& folder);

// Calls `on_frame(header, whole)` for each of these whole frames; `whole` is the frame with its header.
template <class OnFrame>
void for_each_frame(std::string_view frames, OnFrame&& on_frame) {
    while (!frames.empty()) {
        const auto header = wire::parse_header(frames);
        if (!header) {
            return;
        }
        const auto size = wire::frame_header_size + header->length;
        on_frame(*header, frames.substr(0, size));
        frames.remove_prefix(size);
    }
}

} // namespace dockdist::node

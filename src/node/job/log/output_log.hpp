// The job's log on disk, in segments, so that the oldest output can be deleted. Ranks never wait for a
// reader: what cannot be written is counted, dropped, and said later.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// A segment's file is "log." and the position of its first frame in 20 digits. Positions count from the job's
// start, whatever was deleted. A segment is never empty once the next one is there, and holds whole frames.
struct LogSegment {
    std::uint64_t first = 0;
    std::string path{};
};
std::string segment_path(const std::string& folder, std::uint64_t first);
std::vector<LogSegment> log_segments(const std::string& folder); // in order

// Of a job that has ended: deletes its log, so that whoever reads it is told why.
void drop_output(const std::string& folder, const std::string& cause);
// Why output of it is gone. Empty: by the job's own limit.
std::string cause_of_gap(const std::string& folder);

class OutputLog {
public:
    // In the job's folder. Keeps at most `limit` bytes, and a frame at least.
    static Result<OutputLog> create(const std::string& folder, std::int64_t limit);

    void append(std::uint8_t stream, std::int32_t rank, std::string_view bytes);
    // The last lines that this rank wrote, stdout and stderr as they came, at most `limit` bytes, and 64 KiB.
    std::string tail(std::int32_t rank, std::size_t limit = std::size_t{64} << 10U) const;
    // Of these what tells why it failed, where they are more than 4 KiB (shared/core/telling_lines.hpp).
    std::string telling_tail(std::int32_t rank) const;
    std::uint64_t size() const { return size_; } // with what was deleted
    // Keeps no more than so much from now on, and says so in the log, unless it kept less already.
    void shrink(std::int64_t limit, const std::string& cause);

private:
    struct Segment {
        std::uint64_t first = 0;
        Fd file{};
    };
    struct Piece {
        std::uint64_t position = 0; // of the payload
        std::uint32_t length = 0;
    };
    struct LastPieces {
        std::deque<Piece> pieces{};
        std::uint64_t bytes = 0;
    };
    bool write_frame(std::uint8_t stream, std::int32_t rank, std::string_view bytes);
    bool make_room(std::uint64_t bytes);
    Status begin_segment();
    std::string read_piece(const Piece& piece, std::size_t last) const;

    std::string folder_{};
    std::uint64_t limit_ = 0;
    std::deque<Segment> segments_{}; // those that are kept; never empty
    std::uint64_t size_ = 0;
    std::uint64_t lost_ = 0;
    std::int64_t clock_offset_ms_ = 0; // from the monotonic clock to the time since 1970
    std::map<std::int32_t, LastPieces> last_pieces_{};
    std::size_t pieces_ = 0; // of all of them
};

} // namespace dockdist::node

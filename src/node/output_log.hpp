// The job's log on disk. Ranks never wait for a reader: what cannot be written is counted, dropped, and said
// later.
#pragma once

#include "core/result.hpp"
#include "node/os.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace dockdist::node {

class OutputLog {
public:
    static Result<OutputLog> create(const std::string& path);

    void append(std::uint8_t stream, std::int32_t rank, std::string_view bytes);
    // The last lines that this rank wrote, stdout and stderr as they came, at most `limit` bytes.
    std::string tail(std::int32_t rank, std::size_t limit = 4096) const;
    std::uint64_t size() const { return size_; }

private:
    struct Piece {
        std::uint64_t position = 0; // of the payload
        std::uint32_t length = 0;
    };
    bool write_frame(std::uint8_t stream, std::int32_t rank, std::string_view bytes);

    Fd file_{};
    std::uint64_t size_ = 0;
    std::uint64_t lost_ = 0;
    std::map<std::int32_t, std::deque<Piece>> last_pieces_{};
};

} // namespace dockdist::node

#include "node/job/log/log_selection.hpp"

#include "node/job/log/output_log.hpp"

#include <algorithm>
#include <deque>

namespace dockdist::node {
namespace {

// Where a line begins: the position of its frame, and with what stands before it in the frame.
struct LineStart {
    std::uint64_t frame = 0;
    std::uint64_t line = 0;
};

// Where the last lines of each rank begin.
class LastLines {
public:
    explicit LastLines(std::size_t count) : count_(count) {}

    void add(const wire::FrameHeader& header, std::string_view payload) {
        auto& lines = lines_[header.rank];
        bool begins = lines.ended;
        for (std::size_t at = 0; at < payload.size();) {
            if (begins) {
                lines.starts.push_back({.frame = header.position, .line = header.position + at});
                if (lines.starts.size() > count_) {
                    lines.starts.pop_front();
                }
            }
            const auto newline = payload.find('\n', at);
            begins = newline != std::string_view::npos;
            at = begins ? newline + 1 : payload.size();
        }
        lines.ended = begins;
    }

    // The first of each rank's; `none` where it has none.
    std::map<std::int32_t, LineStart> starts(std::uint64_t none) const {
        std::map<std::int32_t, LineStart> starts;
        for (const auto& [rank, lines] : lines_) {
            starts[rank] = lines.starts.empty() ? LineStart{none, none} : lines.starts.front();
        }
        return starts;
    }

private:
    struct Lines {
        std::deque<LineStart> starts{};
        bool ended = true; // the next byte begins a line
    };
    std::size_t count_;
    std::map<std::int32_t, Lines> lines_{};
};

// The last segment that begins before the moment: what is older need not be looked at.
std::uint64_t segment_of(const std::string& folder, std::int64_t moment_ms) {
    std::uint64_t found = log_extent(folder).begin;
    for (const auto& segment : log_segments(folder)) {
        LogReader reader(folder, segment.first);
        std::string frames;
        (void)reader.read(frames);
        const auto header = wire::parse_header(frames);
        if (header && header->time_ms >= moment_ms) {
            break;
        }
        found = segment.first;
    }
    return found;
}

struct Beginning {
    std::uint64_t position = 0;
    std::map<std::int32_t, std::uint64_t> starts{};
};

Beginning find_beginning(const std::string& folder, const wire::JobQuery& query, std::uint64_t end,
                         std::int64_t now_ms) {
    if (!query.tail && !query.since_ms) {
        return {.position = query.position};
    }
    if (log_extent(folder).begin == end) {
        return {}; // all of it is gone, and that is told
    }
    const auto moment = query.since_ms ? now_ms - *query.since_ms : 0;
    LastLines last(static_cast<std::size_t>(query.tail.value_or(0)));
    Beginning beginning{.position = end};
    LogReader reader(folder, query.since_ms ? segment_of(folder, moment) : log_extent(folder).begin);
    std::string frames;
    while (reader.position() < end && reader.read(frames) && !frames.empty()) {
        for_each_frame(frames, [&](const wire::FrameHeader& header, std::string_view whole) {
            if (header.position < end && header.time_ms >= moment && !reader.told_a_gap()) {
                beginning.position = std::min(beginning.position, header.position);
                last.add(header, whole.substr(wire::frame_header_size));
            }
        });
    }
    if (query.tail) {
        beginning.position = end;
        for (const auto& [rank, start] : last.starts(end)) {
            if (!query.rank || rank == *query.rank) {
                beginning.starts[rank] = start.line;
                beginning.position = std::min(beginning.position, start.frame);
            }
        }
    }
    return beginning;
}

} // namespace

LogSelection::LogSelection(const std::string& folder, const wire::JobQuery& query, std::int64_t now_ms)
    : to_the_end_(query.to_the_end), rank_(query.rank), end_(log_extent(folder).end), reader_(folder, 0) {
    auto beginning = find_beginning(folder, query, end_, now_ms);
    starts_ = std::move(beginning.starts);
    reader_ = LogReader(folder, beginning.position);
}

std::string LogSelection::selected(const std::string& frames) const {
    std::string kept;
    for_each_frame(frames, [&](wire::FrameHeader header, std::string_view whole) {
        if (rank_ && header.rank != *rank_) {
            return;
        }
        const auto start = starts_.find(header.rank);
        if (start == starts_.end() || start->second <= header.position) {
            kept += whole;
        } else if (const auto cut = start->second - header.position; cut < header.length) {
            header.position += cut;
            header.length -= static_cast<std::uint32_t>(cut);
            kept += wire::encode_header(header);
            kept += whole.substr(wire::frame_header_size + cut);
        }
    });
    return kept;
}

Status LogSelection::read(std::string& out) {
    while (!complete()) {
        if (auto read = reader_.read(out); !read) {
            return read;
        }
        if (out.empty() || reader_.told_a_gap() || (!rank_ && starts_.empty())) {
            return ok;
        }
        out = selected(out);
        if (!out.empty()) {
            return ok;
        }
    }
    out.clear();
    return ok;
}

} // namespace dockdist::node

#include "node/job/log/output_log.hpp"

#include "shared/core/telling_lines.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::uint64_t longest_tail = std::uint64_t{64} << 10U;
constexpr std::size_t most_pieces = 4096;
constexpr std::size_t most_voices = 32768;          // that there are pieces of
constexpr std::size_t most_of_all_voices = 1 << 20; // pieces
constexpr Screenful told_tail{.lines = 128, .bytes = 4096};
constexpr std::uint64_t segments_in_limit = 16;
constexpr std::string_view segment_prefix = "log.";
constexpr std::size_t segment_digits = 20;

} // namespace

std::string segment_path(const std::string& folder, std::uint64_t first) {
    const auto number = std::to_string(first);
    return folder + "/" + std::string(segment_prefix) + std::string(segment_digits - number.size(), '0') +
           number;
}

std::vector<LogSegment> log_segments(const std::string& folder) {
    std::vector<LogSegment> segments;
    for (const auto& name : list_folder(folder)) { // sorted; so are the numbers, which are of one width
        LogSegment segment{.path = folder + "/" + name};
        const auto* end = name.data() + name.size();
        if (name.starts_with(segment_prefix) && name.size() == segment_prefix.size() + segment_digits &&
            std::from_chars(name.data() + segment_prefix.size(), end, segment.first).ptr == end) {
            segments.push_back(std::move(segment));
        }
    }
    return segments;
}

namespace {

std::string cause_file(const std::string& folder) {
    return folder + "/pruned";
}

bool write_cause(const std::string& folder, const std::string& cause) {
    return replace_file(cause_file(folder), cause, 0600, {::geteuid(), ::getegid()}).has_value();
}

} // namespace

std::string cause_of_gap(const std::string& folder) {
    constexpr std::size_t longest_cause = 400;
    const auto cause = read_file(cause_file(folder), longest_cause);
    return cause ? printable(*cause) : std::string();
}

// What stays is an empty segment, where the log ended.
void drop_output(const std::string& folder, const std::string& cause) {
    const auto segments = log_segments(folder);
    struct stat last{};
    if (segments.empty() || ::stat(segments.back().path.c_str(), &last) != 0 ||
        (segments.size() == 1 && last.st_size == 0)) {
        return;
    }
    const bool told = write_cause(folder, cause);
    if (last.st_size > 0) {
        const auto end = segments.back().first + static_cast<std::uint64_t>(last.st_size);
        const Fd rest(
            ::open(segment_path(folder, end).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        (void)rest;
    }
    for (const auto& segment : segments) {
        if (segment.path != segments.back().path || last.st_size > 0) {
            (void)::unlink(segment.path.c_str());
        }
    }
    if (!told) { // for want of room, which is there now
        (void)write_cause(folder, cause);
    }
}

void OutputLog::shrink(std::int64_t limit, const std::string& cause) {
    if (static_cast<std::uint64_t>(limit) >= limit_) {
        return;
    }
    limit_ = static_cast<std::uint64_t>(limit);
    (void)make_room(limit_ / segments_in_limit + 1); // a new segment: whole ones can go
    (void)write_cause(folder_, cause);
    append(2, -1, "dockdist: " + cause + "\n");
}

Result<OutputLog> OutputLog::create(const std::string& folder, std::int64_t limit) {
    OutputLog log;
    log.folder_ = folder;
    log.limit_ = static_cast<std::uint64_t>(limit);
    log.clock_offset_ms_ = unix_ms() - monotonic_ms();
    TRY(log.begin_segment());
    return log;
}

Status OutputLog::begin_segment() {
    const auto path = segment_path(folder_, size_);
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.open()) {
        return system_error("cannot write " + path, errno);
    }
    segments_.push_back({.first = size_, .file = std::move(file)});
    return ok;
}

void OutputLog::append(std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
    if (lost_ > 0) {
        const auto note =
            "dockdist: " + std::to_string(lost_) + " bytes of output were lost: the disk was full\n";
        if (!write_frame(2, -1, note)) {
            lost_ += bytes.size();
            return;
        }
        lost_ = 0;
    }
    if (!write_frame(stream, rank, bytes)) {
        lost_ += bytes.size();
    }
}

// Before a frame of so many bytes. The newest segment ends where it has its share of the limit; then the
// oldest ones go.
bool OutputLog::make_room(std::uint64_t bytes) {
    const auto& last = segments_.back();
    if (size_ > last.first && size_ - last.first + bytes > limit_ / segments_in_limit && !begin_segment()) {
        return false;
    }
    while (segments_.size() > 1 && size_ + bytes - segments_.front().first > limit_) {
        ::unlink(segment_path(folder_, segments_.front().first).c_str());
        segments_.pop_front();
    }
    return true;
}

bool OutputLog::write_frame(std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
    auto header = wire::encode_header({.kind = wire::Frame::Kind::output,
                                       .stream = stream,
                                       .rank = rank,
                                       .length = static_cast<std::uint32_t>(bytes.size()),
                                       .position = size_,
                                       .time_ms = monotonic_ms() + clock_offset_ms_});
    const auto whole = header.size() + bytes.size();
    if (!make_room(whole)) {
        return false;
    }
    const auto& segment = segments_.back();
    const auto place = static_cast<off_t>(size_ - segment.first);
    std::size_t done = 0;
    while (done < whole) {
        std::array<iovec, 2> parts{};
        int count = 0;
        if (done < header.size()) {
            parts.at(0) = {.iov_base = header.data() + done, .iov_len = header.size() - done};
            count = 1;
        }
        const auto from = done - std::min(done, header.size());
        parts.at(static_cast<std::size_t>(count++)) = {.iov_base = const_cast<char*>(bytes.data()) + from,
                                                       .iov_len = bytes.size() - from};
        const auto written =
            ::pwritev(segment.file.get(), parts.data(), count, place + static_cast<off_t>(done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            // A frame is in the log whole or not at all.
            (void)::ftruncate(segment.file.get(), place);
            return false;
        }
        done += static_cast<std::size_t>(written);
    }
    if (pieces_ >= most_of_all_voices ||
        (last_pieces_.size() >= most_voices && !last_pieces_.contains(rank))) {
        last_pieces_.clear();
        pieces_ = 0;
    }
    auto& last = last_pieces_[rank];
    last.pieces.push_back(
        {.position = size_ + header.size(), .length = static_cast<std::uint32_t>(bytes.size())});
    last.bytes += bytes.size();
    ++pieces_;
    while (last.bytes - last.pieces.front().length >= longest_tail || last.pieces.size() > most_pieces) {
        last.bytes -= last.pieces.front().length;
        last.pieces.pop_front();
        --pieces_;
    }
    size_ += whole;
    return true;
}

// Its last bytes; nothing where they were deleted.
std::string OutputLog::read_piece(const Piece& piece, std::size_t last) const {
    const auto after = std::ranges::upper_bound(segments_, piece.position, {}, &Segment::first);
    if (after == segments_.begin()) {
        return {};
    }
    const auto& segment = *std::prev(after);
    std::string part(last, '\0');
    const auto count = ::pread(segment.file.get(), part.data(), last,
                               static_cast<off_t>(piece.position + piece.length - last - segment.first));
    part.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return part;
}

std::string OutputLog::tail(std::int32_t rank, std::size_t limit) const {
    const auto found = last_pieces_.find(rank);
    if (found == last_pieces_.end()) {
        return {};
    }
    const auto& pieces = found->second.pieces;
    std::vector<std::string> backwards;
    std::size_t size = 0;
    for (auto piece = pieces.rbegin(); piece != pieces.rend() && size < limit; ++piece) {
        backwards.push_back(read_piece(*piece, std::min<std::size_t>(piece->length, limit - size)));
        size += backwards.back().size();
    }
    std::string text;
    for (auto part = backwards.rbegin(); part != backwards.rend(); ++part) {
        text += *part;
    }
    // Whole lines only, where there is more than one.
    if (text.size() >= limit) {
        const auto newline = text.find('\n');
        if (newline != std::string::npos && newline + 1 < text.size()) {
            text.erase(0, newline + 1);
        }
    }
    return text;
}

std::string OutputLog::telling_tail(std::int32_t rank) const {
    auto text = tail(rank, longest_tail);
    return text.size() <= told_tail.bytes ? text : telling_lines(text, told_tail).text + "\n";
}

} // namespace dockdist::node

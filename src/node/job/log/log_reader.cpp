#include "node/job/log/log_reader.hpp"

#include "node/job/log/output_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t chunk = wire::max_payload + wire::frame_header_size; // holds the largest frame
constexpr int most_tries = 100; // of a segment that is deleted between its listing and its opening

// What was deleted, told as the frame that ends where the log goes on: its reader resumes there.
std::string gap_frame(std::uint64_t gone, std::uint64_t goes_on_at, const std::string& cause) {
    wire::Frame frame{.kind = wire::Frame::Kind::output, .stream = 2};
    frame.payload = "dockdist: " + std::to_string(gone) + " bytes of this node's output are gone: " +
                    (cause.empty() ? "the oldest is deleted at the limit (--log-limit)" : cause) + "\n";
    frame.position = goes_on_at - wire::frame_header_size - frame.payload.size();
    return wire::encode(frame);
}

} // namespace

LogExtent log_extent(const std::string& folder) {
    const auto segments = log_segments(folder);
    if (segments.empty()) {
        return {};
    }
    struct stat status{};
    const auto size =
        ::stat(segments.back().path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
    return {.begin = segments.front().first, .end = segments.back().first + size};
}

// Opens the segment that holds the position. False: there is nothing to read now.
bool LogReader::open_segment(std::string& note) {
    for (int tries = 0; tries < most_tries; ++tries) {
        const auto segments = log_segments(folder_);
        if (segments.empty()) {
            return false;
        }
        const LogSegment* wanted = nullptr;
        for (const auto& segment : segments) {
            if (segment.first <= position_) {
                wanted = &segment;
            }
        }
        const auto& found = wanted == nullptr ? segments.front() : *wanted;
        auto file = open_regular(found.path, O_NOFOLLOW);
        if (!file && file.error().kind == ErrorKind::not_found) {
            continue;
        }
        if (!file) {
            return false;
        }
        if (wanted == nullptr) {
            note = gap_frame(found.first - position_, found.first, cause_of_gap(folder_));
            position_ = found.first;
        }
        segment_ = std::move(*file);
        first_ = found.first;
        return true;
    }
    return false;
}

// Whether more is in another file: the next segment begins here, or this one was deleted already.
bool LogReader::ended_segment() const {
    struct stat status{};
    return (position_ != first_ && ::stat(segment_path(folder_, position_).c_str(), &status) == 0) ||
           (::stat(segment_path(folder_, first_).c_str(), &status) != 0 && errno == ENOENT);
}

Status LogReader::read(std::string& out) {
    told_a_gap_ = false;
    while (true) {
        out.clear();
        if (!segment_.open() && !open_segment(out)) {
            return ok;
        }
        if (!out.empty()) {
            told_a_gap_ = true;
            return ok;
        }
        out.resize(chunk);
        const auto count =
            ::pread(segment_.get(), out.data(), out.size(), static_cast<off_t>(position_ - first_));
        out.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        std::size_t whole = 0;
        while (whole + wire::frame_header_size <= out.size()) {
            const auto header = wire::parse_header(std::string_view(out).substr(whole));
            if (!header || header->position != position_ + whole) {
                return Error{.kind = ErrorKind::protocol,
                             .message = "position " + std::to_string(position_ + whole) +
                                        " is not the beginning of a frame of this job's log"};
            }
            const auto next = whole + wire::frame_header_size + header->length;
            if (next > out.size()) {
                break;
            }
            whole = next;
        }
        out.resize(whole);
        position_ += whole;
        if (whole > 0 || count > 0 || !ended_segment()) {
            return ok;
        }
        segment_.reset();
    }
}

} // namespace dockdist::node

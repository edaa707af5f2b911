#include "node/output_log.hpp"

#include "wire/frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t kept_pieces = 64;

}

Result<OutputLog> OutputLog::create(const std::string& path) {
    OutputLog log;
    log.file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!log.file_.open()) {
        return system_error("cannot write " + path, errno);
    }
    return log;
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

bool OutputLog::write_frame(std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
    auto header = wire::encode_header({.kind = wire::Frame::Kind::output,
                                       .stream = stream,
                                       .rank = rank,
                                       .length = static_cast<std::uint32_t>(bytes.size()),
                                       .position = size_});
    const auto whole = header.size() + bytes.size();
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
        const auto written = ::pwritev(file_.get(), parts.data(), count, static_cast<off_t>(size_ + done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            // A frame is in the log whole or not at all.
            (void)::ftruncate(file_.get(), static_cast<off_t>(size_));
            return false;
        }
        done += static_cast<std::size_t>(written);
    }
    auto& pieces = last_pieces_[rank];
    pieces.push_back({.position = size_ + header.size(), .length = static_cast<std::uint32_t>(bytes.size())});
    if (pieces.size() > kept_pieces) {
        pieces.pop_front();
    }
    size_ += whole;
    return true;
}

std::string OutputLog::tail(std::int32_t rank, std::size_t limit) const {
    const auto found = last_pieces_.find(rank);
    if (found == last_pieces_.end()) {
        return {};
    }
    std::string text;
    for (auto piece = found->second.rbegin(); piece != found->second.rend() && text.size() < limit; ++piece) {
        const auto length = std::min<std::size_t>(piece->length, limit - text.size());
        std::string part(length, '\0');
        const auto count = ::pread(file_.get(), part.data(), length,
                                   static_cast<off_t>(piece->position + piece->length - length));
        part.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        text.insert(0, part);
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

} // namespace dockdist::node

#include "node/boot/join_stream.hpp"

#include "node/system/os.hpp"
#include "shared/wire/json_reader.hpp"

#include <cerrno>
#include <unistd.h>

namespace dockdist::node {

Result<std::string> JoinStream::next_line() {
    while (true) {
        if (auto line = line_that_came()) {
            return std::move(*line);
        }
        auto line = read_some();
        TRY(line);
        if (*line) {
            return std::move(**line);
        }
    }
}

Result<std::optional<std::string>> JoinStream::read_some() {
    if (buffer_.size() > wire::max_line) {
        return Error{.kind = ErrorKind::protocol, .message = "the list of members is longer than 4 MiB"};
    }
    char piece[65536];
    const auto count = ::read(in_, piece, sizeof piece);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        return Error{.kind = ErrorKind::interrupted,
                     .message = "the client left before the node had the list of members"};
    }
    buffer_.append(piece, count > 0 ? static_cast<std::size_t>(count) : 0);
    return line_that_came();
}

std::optional<std::string> JoinStream::line_that_came() {
    const auto end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
        searched_ = buffer_.size();
        return std::nullopt;
    }
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    searched_ = 0;
    return line;
}

Status JoinStream::write(std::string_view line) const {
    return write_all(out_, line);
}

} // namespace dockdist::node

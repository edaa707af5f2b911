#include "client/engine/line_stream.hpp"

#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t longest_line = 4U << 20U;

bool is_blank(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos;
}

} // namespace

Task<Result<std::optional<std::string>>> LineStream::next() {
    while (true) {
        const auto end = buffer_.find('\n', searched_);
        if (end != std::string::npos) {
            std::string line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            searched_ = 0;
            if (!is_blank(line)) {
                co_return std::optional(std::move(line));
            }
            continue;
        }
        searched_ = buffer_.size();
        if (ended_) {
            std::string last = std::exchange(buffer_, {});
            searched_ = 0;
            co_return is_blank(last) ? std::optional<std::string>() : std::optional(std::move(last));
        }
        if (buffer_.size() > longest_line) {
            co_return Error{ErrorKind::protocol, "", "a message of the engine is longer than 4 MiB", ""};
        }
        auto bytes = co_await stream_->read();
        CO_TRY(bytes);
        ended_ = bytes->empty();
        buffer_ += *bytes;
    }
}

} // namespace dockdist

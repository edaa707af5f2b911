#include "node/relay/relay_input.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace dockdist::node {

std::optional<std::string> RelayInput::line() {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
        if (buffer_.size() > longest_line_ || !fill()) {
            return std::nullopt;
        }
    }
    std::string text = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return text;
}

std::string RelayInput::some(std::size_t limit) {
    if (buffer_.empty() && !fill()) {
        return "";
    }
    std::string bytes = buffer_.substr(0, limit);
    buffer_.erase(0, bytes.size());
    return bytes;
}

bool RelayInput::fill() {
    const auto bytes = more_();
    buffer_ += bytes;
    return !bytes.empty();
}

RelayInput::More read_from(int fd) {
    return [fd] {
        std::string bytes(65536, '\0');
        ssize_t count = 0;
        do {
            count = ::read(fd, bytes.data(), bytes.size());
        } while (count < 0 && errno == EINTR);
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        return bytes;
    };
}

} // namespace dockdist::node

#include "node/relay/relay_input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_relay_line = 16 << 20;

}

std::optional<std::string> RelayInput::line() {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
        if (buffer_.size() > longest_relay_line || !fill()) {
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
    std::array<char, 65536> bytes{};
    ssize_t count = 0;
    do {
        count = ::read(from_, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    buffer_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;
}

} // namespace dockdist::node

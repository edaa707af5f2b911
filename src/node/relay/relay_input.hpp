// What a relay reads: lines, and bytes between them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace dockdist::node {

// Blocks.
class RelayInput {
public:
    // More bytes, some; "" at the end.
    using More = std::function<std::string()>;
    RelayInput(More more, std::size_t longest_line) : more_(std::move(more)), longest_line_(longest_line) {}

    // The next line without its '\n'; nothing at the end, or for one that is too long.
    std::optional<std::string> line();
    // At most `limit` bytes; "" at the end.
    std::string some(std::size_t limit);

private:
    bool fill();

    More more_;
    std::size_t longest_line_;
    std::string buffer_{};
};

RelayInput::More read_from(int fd); // which is somebody else's

} // namespace dockdist::node

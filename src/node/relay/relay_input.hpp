// What a relay reads: lines, and bytes between them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace dockdist::node {

// Blocks. The descriptor is somebody else's.
class RelayInput {
public:
    explicit RelayInput(int from, std::string begin = "") : from_(from), buffer_(std::move(begin)) {}

    // The next line without its '\n'; nothing at the end, or for one above 16 MiB.
    std::optional<std::string> line();
    // At most `limit` bytes; "" at the end.
    std::string some(std::size_t limit);

private:
    bool fill();

    int from_;
    std::string buffer_;
};

} // namespace dockdist::node

// The client's side of a join as the node sees it: lines in, lines out.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::node {

class JoinStream {
public:
    // The descriptors are the caller's.
    JoinStream(int in, int out) : in_(in), out_(out) {}

    int in() const { return in_; }
    // The next line without its '\n', whenever it comes. Errors: interrupted when the client went; protocol
    // for a line of more than 4 MiB.
    Result<std::string> next_line();
    // The same with one read: nothing where no line is whole yet.
    Result<std::optional<std::string>> read_some();
    std::optional<std::string> line_that_came();
    Status write(std::string_view line) const;

private:
    int in_;
    int out_;
    std::string buffer_{};
    std::size_t searched_ = 0; // no line ends before
};

} // namespace dockdist::node

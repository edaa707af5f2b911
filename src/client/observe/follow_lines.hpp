// A command of a node that tells something line by line for as long as its client gives signs of life.
#pragma once

#include "client/observe/observe.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace dockdist {

struct FollowedLines {
    std::vector<std::string> command{};
    // Of each line; an error ends it.
    std::function<Status(std::string_view line)> hear{};
    Error at_end{}; // where the node says no more; what it said on stderr is put behind the message
    std::optional<std::chrono::milliseconds> longest_silence{}; // between two lines
};
// Returns when the node says no more. The node takes a client that is silent for 30 s for gone.
Task<Error> follow_lines(ContainerEngine& engine, const ReadyNode& node, FollowedLines followed);

} // namespace dockdist

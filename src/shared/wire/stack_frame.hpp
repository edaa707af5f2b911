// A place in a rank's code.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t longest_stack_word = 512; // bytes, of what ranks' names may be

// What somebody else has said, as it may be told: printable, and cut.
std::string stack_word(std::string_view text);

struct StackFrame {
    std::string function{};
    std::string file{}; // as Python was given it
    int line = 0;       // 0: not known
    bool operator==(const StackFrame&) const = default;
};

nlohmann::json frame_object(const StackFrame& frame);
void read_frame(ObjectReader& reader, StackFrame& frame);

} // namespace dockdist::wire

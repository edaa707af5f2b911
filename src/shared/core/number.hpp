// A number that stands as text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace dockdist {

// What all of `text` says, as std::from_chars reads it: decimal, with no blanks and no '+'. Nothing where it
// is empty, goes on behind the number, or is out of the type's range.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number{};
    const auto* const begin = text.data();
    const auto* const end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, number);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

} // namespace dockdist

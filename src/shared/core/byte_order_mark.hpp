// What some editors write before a text, and is none of it.
#pragma once

#include <string_view>

namespace dockdist {

// `text` without UTF-8's.
inline std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

} // namespace dockdist

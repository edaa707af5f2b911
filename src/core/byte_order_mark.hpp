#pragma once

#include <string_view>

namespace dockdist {

// `text` without UTF-8's mark, which editors of Windows write first.
inline std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

} // namespace dockdist

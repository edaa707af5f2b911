// UTF-8 read strictly: overlong forms, surrogates and code points above U+10FFFF are not characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace dockdist {

struct Utf8Char {
    char32_t code_point = 0;
    std::size_t size = 0; // bytes it takes; 0 when no valid character stands at the front
};

// The character at the front of `text`.
Utf8Char decode_utf8(std::string_view text);

// The longest prefix of `text`, at most `limit` bytes, that does not end inside a character. Text that is not
// UTF-8 is cut at `limit`.
std::size_t utf8_prefix(std::string_view text, std::size_t limit);

} // namespace dockdist

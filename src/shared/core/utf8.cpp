#include "shared/core/utf8.hpp"

#include <algorithm>

namespace dockdist {
namespace {

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

} // namespace

Utf8Char decode_utf8(std::string_view text) {
    if (text.empty()) {
        return {};
    }
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
        return {.code_point = lead, .size = 1};
    }
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) {
        return {};
    }
    char32_t code_point = lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if (!is_continuation(text[i])) {
            return {};
        }
        code_point = (code_point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    const bool overlong = (size == 3 && code_point < 0x800) || (size == 4 && code_point < 0x10000);
    const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
    if (overlong || surrogate || code_point > 0x10FFFF) {
        return {};
    }
    return {.code_point = code_point, .size = size};
}

std::size_t utf8_prefix(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return text.size();
    }
    std::size_t cut = limit;
    while (cut > 0 && limit - cut < 3 && is_continuation(text[cut])) {
        --cut;
    }
    return cut == 0 || is_continuation(text[cut]) ? limit : cut;
}

} // namespace dockdist

#include "client/report/displayable.hpp"

#include "client/report/display_text.hpp"
#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

// `passing`: bytes at the front of what begins with a control character that pass as they are.
template <class Passing>
std::string made_visible(std::string_view bytes, Passing&& passing) {
    std::string result;
    result.reserve(bytes.size());
    while (!bytes.empty()) {
        const auto control =
            std::ranges::find_if(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
        const auto plain = static_cast<std::size_t>(std::distance(bytes.begin(), control));
        result += printable(bytes.substr(0, plain));
        bytes.remove_prefix(plain);
        if (bytes.empty()) {
            break;
        }
        const std::size_t pass = passing(bytes);
        result += pass > 0 ? std::string(bytes.substr(0, pass)) : printable(bytes.substr(0, 1));
        bytes.remove_prefix(std::max<std::size_t>(pass, 1));
    }
    return result;
}

bool is_line_or_tab(char c) {
    return c == '\n' || c == '\t';
}

} // namespace

Displayable Displayable::text(std::string_view lines) {
    if (is_plain_ascii(lines)) {
        return Displayable(lines);
    }
    return Displayable(made_visible(
        lines, [](std::string_view rest) { return is_line_or_tab(rest.front()) ? std::size_t{1} : 0; }));
}

Displayable Displayable::drawn(std::string_view lines) {
    if (is_plain_ascii(lines)) {
        return Displayable(lines);
    }
    return Displayable(made_visible(lines, [](std::string_view rest) {
        return is_line_or_tab(rest.front()) || rest.front() == '\r' ? std::size_t{1} : drawn_sequence(rest);
    }));
}

Displayable Displayable::json(std::string_view dumped) {
    if (is_plain_ascii(dumped)) {
        return Displayable(dumped);
    }
    std::string result;
    result.reserve(dumped.size());
    while (!dumped.empty()) {
        const auto [code_point, size] = decode_utf8(dumped);
        const auto character = dumped.substr(0, std::max<std::size_t>(size, 1));
        if (character == "\n" || (size > 0 && is_printable(character))) {
            result += character;
        } else {
            // In what a dump has made, bytes that are no character are gone already.
            fmt::format_to(std::back_inserter(result), "\\u{:04x}",
                           size > 0 ? static_cast<unsigned>(code_point) : 0xFFFDU);
        }
        dumped.remove_prefix(character.size());
    }
    return Displayable(std::move(result));
}

} // namespace dockdist

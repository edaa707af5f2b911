#include "client/report/display_text.hpp"

#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dockdist {
namespace {

struct Range {
    char32_t first, last;
};

// From Unicode 15's DerivedGeneralCategory (Mn, Me, Cf) and EastAsianWidth (W, F), neighbouring blocks
// joined.
constexpr Range no_columns[] = {
    {0x0300, 0x036F},   {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF}, {0x05C1, 0x05C2},
    {0x0610, 0x061A},   {0x064B, 0x065F}, {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C},
    {0x0941, 0x0948},   {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF},   {0x200B, 0x200F}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0x302A, 0x302D},
    {0x3099, 0x309A},   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0001, 0xE007F},
    {0xE0100, 0xE01EF},
};
constexpr Range two_columns[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
    {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},
    {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},
    {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E},
    {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393},
    {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E},
    {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F567}, {0x1F57A, 0x1F57A},
    {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC},
    {0x1F6D0, 0x1F6D7}, {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

template <std::size_t N>
bool contains(const Range (&ranges)[N], char32_t code_point) {
    const auto* next =
        std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                         [](char32_t value, const Range& range) { return value < range.first; });
    return next != std::begin(ranges) && code_point <= std::prev(next)->last;
}

std::size_t width_of(char32_t code_point) {
    if (code_point < 0x300) {
        return 1;
    }
    return contains(no_columns, code_point) ? 0 : contains(two_columns, code_point) ? 2 : 1;
}

// ESC [ parameters final. `size` is 0 when the text does not begin with a complete sequence of a moderate
// length.
struct Csi {
    std::size_t size = 0;
    std::string_view parameters{};
    char final_byte = 0;
};

Csi csi_at(std::string_view text) {
    if (!text.starts_with("\x1b[")) {
        return {};
    }
    const auto end = text.find_first_not_of("0123456789;:?", 2);
    if (end == std::string_view::npos || end > 40) {
        return {};
    }
    return {.size = end + 1, .parameters = text.substr(2, end - 2), .final_byte = text[end]};
}

bool is_colour(const Csi& csi) {
    return csi.final_byte == 'm' && csi.parameters.find('?') == std::string_view::npos;
}

bool is_live_display(const Csi& csi) {
    return csi.final_byte == 'K' || csi.final_byte == 'A' ||
           ((csi.final_byte == 'h' || csi.final_byte == 'l') && csi.parameters == "?25");
}

std::string ellipsis(std::size_t columns, bool unicode) {
    if (unicode) {
        return columns > 0 ? "…" : "";
    }
    return std::string(std::min<std::size_t>(columns, 3), '.');
}

// Bytes of the characters at the front that fit into `columns`.
std::size_t clip_size(std::string_view text, std::size_t columns) {
    std::size_t bytes = 0;
    std::size_t used = 0;
    while (bytes < text.size()) {
        const auto [code_point, size] = decode_utf8(text.substr(bytes));
        const auto width = size == 0 ? 1 : width_of(code_point);
        if (used + width > columns) {
            break;
        }
        used += width;
        bytes += std::max<std::size_t>(size, 1);
    }
    return bytes;
}

constexpr std::pair<std::string_view, std::string_view> ascii_forms[] = {
    {"…", "..."}, {"→", "->"}, {"←", "<-"}, {"×", "x"}, {"°", ""},   {"µ", "u"},
    {"–", "-"},   {"—", "-"},  {"·", "-"},  {"✓", "+"}, {"≥", ">="}, {"≤", "<="},
};

// One line; the spaces at its front are its indent.
std::string wrap_line(std::string_view line, std::size_t columns, std::size_t hanging) {
    const auto own = std::min(line.find_first_not_of(' '), line.size());
    auto indent = std::max(own, hanging);
    if (indent + indent >= columns) { // a terminal that is all indent
        indent = 0;
    }
    std::string text;
    std::size_t width = 0;
    bool fresh = true; // no word stands in this line yet
    while (!line.empty()) {
        const auto spaces = std::min(line.find_first_not_of(' '), line.size());
        const auto end = std::min(line.find(' ', spaces), line.size());
        const auto word = line.substr(spaces, end - spaces);
        line.remove_prefix(end);
        const auto word_width = display_width(word);
        if (!fresh && width + spaces + word_width > columns) {
            text += '\n' + std::string(indent, ' ');
            width = indent;
        } else {
            text.append(spaces, ' ');
            width += spaces;
        }
        text += word;
        width += word_width;
        fresh = false;
    }
    return text;
}

} // namespace

bool is_plain_ascii(std::string_view text) {
    constexpr std::size_t block = 256;
    while (!text.empty()) {
        const auto part = text.substr(0, block);
        unsigned other = 0;
        for (const char c : part) {
            const auto byte = static_cast<unsigned char>(c);
            other |= static_cast<unsigned>((byte < 0x20) & (byte != '\t') & (byte != '\n')) |
                     static_cast<unsigned>(byte >= 0x7F);
        }
        if (other != 0) {
            return false;
        }
        text.remove_prefix(part.size());
    }
    return true;
}

std::string safe_line(std::string_view line, Colours colours) {
    std::string result;
    result.reserve(line.size() + sgr_reset.size());
    bool coloured = false;
    while (!line.empty()) {
        const auto escape = std::min(line.find('\x1b'), line.size());
        result += printable(line.substr(0, escape));
        line.remove_prefix(escape);
        if (line.empty()) {
            break;
        }
        const auto csi = csi_at(line);
        if (csi.size != 0 && is_colour(csi)) {
            if (colours == Colours::keep) {
                result += line.substr(0, csi.size);
                coloured = true;
            }
            line.remove_prefix(csi.size);
        } else if (csi.size != 0 && is_live_display(csi)) {
            line.remove_prefix(csi.size);
        } else {
            result += printable(line.substr(0, 1));
            line.remove_prefix(1);
        }
    }
    if (coloured) {
        result += sgr_reset;
    }
    return result;
}

std::string safe_cell(std::string_view text) {
    std::string result = printable(text);
    std::ranges::replace(result, '\t', ' ');
    return result;
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        if (const auto csi = csi_at(text); csi.size != 0) {
            text.remove_prefix(csi.size);
            continue;
        }
        const auto [code_point, size] = decode_utf8(text);
        columns += size == 0 ? 1 : width_of(code_point);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return columns;
}

std::string clipped(std::string_view text, std::size_t columns, bool unicode) {
    if (display_width(text) <= columns) {
        return std::string(text);
    }
    const auto mark = ellipsis(columns, unicode);
    const auto room = columns - display_width(mark);
    std::string result;
    std::size_t used = 0;
    bool coloured = false;
    while (!text.empty()) {
        if (const auto csi = csi_at(text); csi.size != 0) {
            result += text.substr(0, csi.size);
            coloured = true;
            text.remove_prefix(csi.size);
            continue;
        }
        const auto [code_point, size] = decode_utf8(text);
        const auto width = size == 0 ? 1 : width_of(code_point);
        if (used + width > room) {
            break;
        }
        used += width;
        result += text.substr(0, std::max<std::size_t>(size, 1));
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    result += mark;
    if (coloured) {
        result += sgr_reset;
    }
    return result;
}

std::string clipped_middle(std::string_view text, std::size_t columns, bool unicode) {
    if (display_width(text) <= columns) {
        return std::string(text);
    }
    const auto mark = ellipsis(columns, unicode);
    const auto room = columns - display_width(mark);
    const auto cut = clip_size(text, room - room / 2);
    auto rest = text.substr(cut);
    for (auto width = display_width(rest); width > room / 2 && !rest.empty();) {
        const auto [code_point, size] = decode_utf8(rest);
        width -= std::min(width, size == 0 ? 1 : width_of(code_point));
        rest.remove_prefix(std::max<std::size_t>(size, 1));
    }
    rest.remove_prefix(clip_size(rest, 0)); // marks of the character before
    return std::string(text.substr(0, cut)) + mark + std::string(rest);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines(1);
    std::size_t width = 0;      // of the last line
    std::size_t last_space = 0; // in it; 0: none
    while (!text.empty()) {
        const auto [code_point, bytes] = decode_utf8(text);
        const auto size = std::max<std::size_t>(bytes, 1);
        const auto character = bytes == 0 ? 1 : width_of(code_point);
        if (width + character > columns && width > 0 && text.front() == ' ') {
            lines.emplace_back();
            width = 0;
            last_space = 0;
        } else if (width + character > columns && width > 0) {
            auto& line = lines.back();
            std::string next = last_space == 0 ? "" : line.substr(last_space + 1);
            line.erase(last_space == 0 ? line.size() : last_space);
            lines.push_back(std::move(next));
            width = display_width(lines.back());
            last_space = 0;
        }
        if (text.front() == ' ' && width > 0) {
            last_space = lines.back().size();
        }
        if (text.front() != ' ' || width > 0) {
            lines.back() += text.substr(0, size);
            width += character;
        }
        text.remove_prefix(size);
    }
    return lines;
}

std::string wrap_words(std::string_view lines, std::size_t columns, std::size_t hanging) {
    if (columns == 0) {
        return std::string(lines);
    }
    std::string text;
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        const auto line = lines.substr(0, end);
        text += display_width(line) <= columns ? std::string(line) : wrap_line(line, columns, hanging);
        text += end < lines.size() ? "\n" : "";
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return text;
}

std::string ascii_signs(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto* const form = std::ranges::find_if(
            ascii_forms, [&](const auto& known) { return text.starts_with(known.first); });
        if (form == std::end(ascii_forms)) {
            result += text.front();
            text.remove_prefix(1);
        } else {
            result += form->second;
            text.remove_prefix(form->first.size());
        }
    }
    return result;
}

std::size_t drawn_sequence(std::string_view text) {
    const auto csi = csi_at(text);
    const bool passes = csi.size != 0 && (is_colour(csi) || is_live_display(csi) || csi.final_byte == 'J');
    return passes ? csi.size : 0;
}

std::string padded(std::string_view text, std::size_t columns) {
    std::string result(text);
    const auto width = display_width(text);
    if (width < columns) {
        result.append(columns - width, ' ');
    }
    return result;
}

} // namespace dockdist

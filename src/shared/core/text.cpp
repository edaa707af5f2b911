#include "shared/core/text.hpp"

#include "shared/core/trimmed.hpp"
#include "shared/core/utf8.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace dockdist {
namespace {

bool needs_no_quotes(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

// Insertions, deletions, replacements and transpositions of neighbours, the commonest slip of all, count one
// each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::vector<std::size_t> next(b.size() + 1);
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                next[j] = std::min(next[j], before[j - 2] + 1);
            }
        }
        before = std::move(row);
        row = std::move(next);
    }
    return row.back();
}

// Bidirectional marks and controls, those that Unicode deprecates among them, and the line and paragraph
// separators.
bool reorders_or_breaks_lines(char32_t code_point) {
    return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
           (code_point >= 0x2028 && code_point <= 0x202E) || (code_point >= 0x2066 && code_point <= 0x206F);
}

void append_escape(std::string& text, char letter, char32_t value, unsigned digits) {
    text += '\\';
    text += letter;
    while (digits-- > 0) {
        text += "0123456789abcdef"[(value >> (4 * digits)) & 0xFU];
    }
}

} // namespace

std::string shell_quote(std::string_view text) {
    if (!text.empty() && std::ranges::all_of(text, needs_no_quotes)) {
        return std::string(text);
    }
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

std::string shell_join(std::span<const std::string> words) {
    std::string line;
    for (const auto& word : words) {
        if (!line.empty()) {
            line += ' ';
        }
        line += shell_quote(word);
    }
    return line;
}

bool is_plain_name(std::string_view text) {
    const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (text.empty() || text.size() > 63 || !alnum(text.front()) || !alnum(text.back())) {
        return false;
    }
    return std::ranges::all_of(text, [&](char c) { return alnum(c) || c == '-' || c == '.'; }) &&
           text.find("..") == std::string_view::npos;
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto candidate : candidates) {
        const auto distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return std::string(best);
}

bool is_printable(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x80) {
            if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
                return false;
            }
            ++at;
            continue;
        }
        const auto [code_point, size] = decode_utf8(text.substr(at));
        if (size == 0 || code_point < 0xA0 || reorders_or_breaks_lines(code_point)) {
            return false;
        }
        at += size;
    }
    return true;
}

std::string printable(std::string_view text) {
    if (is_printable(text)) {
        return std::string(text);
    }
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const auto [code_point, size] = decode_utf8(text);
        if (size == 0) {
            append_escape(result, 'x', static_cast<unsigned char>(text.front()), 2);
            text.remove_prefix(1);
            continue;
        }
        if ((code_point < 0x20 && code_point != '\t') || (code_point >= 0x7F && code_point < 0xA0)) {
            append_escape(result, 'x', code_point, 2);
        } else if (reorders_or_breaks_lines(code_point)) {
            append_escape(result, 'u', code_point, 4);
        } else {
            result += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const auto end = text.find(separator, begin);
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) {
            return parts;
        }
        begin = end + 1;
    }
}

std::vector<std::string_view> split_blanks(std::string_view text, std::string_view blanks) {
    std::vector<std::string_view> words;
    for (auto begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
        const auto end = std::min(text.find_first_of(blanks, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(blanks, end);
    }
    return words;
}

std::string last_line(std::string_view text) {
    text = trimmed(text);
    const auto before = text.rfind('\n');
    return std::string(before == std::string_view::npos ? text : trimmed(text.substr(before)));
}

} // namespace dockdist

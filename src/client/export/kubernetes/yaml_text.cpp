#include "client/export/kubernetes/yaml_text.hpp"

#include "shared/core/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace dockdist {
namespace {

using Json = nlohmann::ordered_json;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What some version of YAML takes for a boolean or nothing, in any case of its letters.
bool is_reserved(std::string_view text) {
    constexpr std::array<std::string_view, 9> words{"y",   "n",    "yes",   "no",  "on",
                                                    "off", "true", "false", "null"};
    return std::ranges::any_of(words, [&](std::string_view word) {
        return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
    });
}

// Numbers, dates and times begin with a digit, a sign or a dot, and are quoted whether they are such or not.
bool is_plain(std::string_view text) {
    if (text.empty() || !(is_letter(text.front()) || text.front() == '/') || is_reserved(text) ||
        text.back() == ':' || text.back() == ' ' || text.find(": ") != std::string_view::npos) {
        return false;
    }
    return std::ranges::all_of(text, [](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') ||
               std::string_view("_./@:+,=- ()").find(c) != std::string_view::npos;
    });
}

// Whether all of it may stand in a literal block: nothing that has to be escaped, or that a reader takes for
// an indentation or for another kind of line break.
bool fits_block(std::string_view text) {
    if (text.find('\n') == std::string_view::npos || text.starts_with('\n') || text.starts_with(' ') ||
        text.starts_with('\t')) {
        return false;
    }
    for (const std::string_view breaks : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"}) {
        if (text.find(breaks) != std::string_view::npos) {
            return false;
        }
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F || c1) {
            return false;
        }
    }
    return true;
}

std::string block(std::string_view text, const std::string& indent) {
    const auto last = text.find_last_not_of('\n');
    const auto newlines = text.size() - last - 1;
    std::string result = newlines == 0 ? "|-" : newlines == 1 ? "|" : "|+";
    if (newlines > 0) {
        text.remove_suffix(1);
    }
    while (true) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        result += "\n";
        if (!line.empty()) {
            result += indent + std::string(line);
        }
        if (end == std::string_view::npos) {
            return result;
        }
        text.remove_prefix(end + 1);
    }
}

// JSON's escapes are YAML's too, but for pairs of surrogates: so characters stand as they are, and those that
// YAML does not print are escaped here.
std::string quoted_text(const Json& text) {
    const auto json = text.dump();
    std::string result;
    for (std::size_t i = 0; i < json.size();) {
        const auto next = decode_utf8(std::string_view(json).substr(i));
        const auto code = static_cast<unsigned>(next.code_point);
        if ((code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF) {
            result += fmt::format("\\u{:04x}", code);
        } else {
            result += json.substr(i, next.size);
        }
        i += next.size;
    }
    return result;
}

std::string scalar(const Json& value, const std::string& indent) {
    if (!value.is_string()) {
        return value.dump(); // also "{}" and "[]"
    }
    const auto& text = value.get_ref<const std::string&>();
    if (is_plain(text)) {
        return text;
    }
    return fits_block(text) ? block(text, indent) : quoted_text(value);
}

void append(std::string& out, const Json& value, const std::string& indent);

// What stands behind "key:" or "-", whose own line begins with `indent`.
void append_value(std::string& out, const Json& value, const std::string& indent, bool in_list) {
    if (!value.is_structured() || value.empty()) {
        out += " " + scalar(value, indent + "  ") + "\n";
    } else if (in_list && value.is_object()) {
        std::string item;
        append(item, value, indent + "  ");
        out += " " + item.substr(indent.size() + 2); // its first key on the line of the "-"
    } else {
        out += "\n";
        append(out, value, indent + "  ");
    }
}

void append(std::string& out, const Json& value, const std::string& indent) {
    if (value.is_object()) {
        for (const auto& [key, item] : value.items()) {
            out += indent + (is_plain(key) ? key : quoted_text(Json(key))) + ":";
            append_value(out, item, indent, false);
        }
    } else {
        for (const auto& item : value) {
            out += indent + "-";
            append_value(out, item, indent, true);
        }
    }
}

} // namespace

std::string to_yaml(const Json& value) {
    if (!value.is_structured() || value.empty()) {
        return scalar(value, "  ") + "\n";
    }
    std::string out;
    append(out, value, "");
    return out;
}

} // namespace dockdist

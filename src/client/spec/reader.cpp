#include "client/spec/reader.hpp"

#include "client/spec/interpolate.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

namespace dockdist {
namespace {

constexpr std::size_t max_items = 10'000;

bool has_control(std::string_view text) {
    return !is_printable(text) || text.find('\t') != std::string_view::npos;
}

YamlMistake about(const Value& at, const std::string& message, std::string hint) {
    return {at.place, at.path.empty() ? message : fmt::format("`{}`: {}", at.path, message), std::move(hint)};
}

std::vector<YamlMistake> in_order(std::vector<YamlMistake> mistakes) {
    const auto key = [](const YamlMistake& m) { return std::tie(m.place, m.message, m.hint); };
    std::ranges::sort(mistakes, {}, key);
    // A value that an alias repeats is read as often, and is wrong once.
    mistakes.erase(std::ranges::unique(mistakes, {}, key).begin(), mistakes.end());
    return mistakes;
}

// A key as it stands in a path: one with a dot or other signs is quoted, so that the path stays readable.
std::string path_part(std::string_view key) {
    const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
    });
    return plain ? std::string(key) : '"' + printable(key.substr(0, utf8_prefix(key, 60))) + '"';
}

} // namespace

Value Value::item(std::size_t index) const {
    const auto* child = node->items.at(index);
    return {child, fmt::format("{}[{}]", path, index), child->place, secret};
}

Value Value::member(const YamlEntry& entry) const {
    return {entry.value, path.empty() ? path_part(entry.key) : path + "." + path_part(entry.key),
            entry.value->place, secret};
}

std::string in_quotes(std::string_view text) {
    const auto cut = utf8_prefix(text, 80);
    return "`" + printable(text.substr(0, cut)) + (cut < text.size() ? "…`" : "`");
}

std::string join(Words words) {
    std::string list;
    for (const auto word : words) {
        list += fmt::format("{}`{}`", list.empty() ? "" : ", ", word);
    }
    return list;
}

std::string found(const Value& value) {
    switch (value.node->kind) {
    case YamlNode::Kind::null:
        return "nothing";
    case YamlNode::Kind::list:
        return "a list";
    case YamlNode::Kind::map:
        return "a map";
    case YamlNode::Kind::scalar:
        break;
    }
    return value.secret ? "text" : value.node->text.empty() ? "empty text" : in_quotes(value.node->text);
}

void Reader::error(const Value& at, const std::string& message, std::string hint) {
    errors_.push_back(about(at, message, std::move(hint)));
}

void Reader::put_off(std::size_t count) {
    const auto first = errors_.begin() + static_cast<std::ptrdiff_t>(std::min(count, errors_.size()));
    std::move(first, errors_.end(), std::back_inserter(put_off_));
    errors_.erase(first, errors_.end());
}

void Reader::warning(const Value& at, const std::string& message, std::string hint) {
    warnings_.push_back(about(at, message, std::move(hint)));
}

void Reader::expected(const Value& at, std::string_view what, std::string hint) {
    if (at.node->kind == YamlNode::Kind::null && hint.empty()) {
        hint = "give the key a value, or remove it";
    }
    error(at, fmt::format("expected {}, found {}", what, found(at)), std::move(hint));
}

void Reader::unknown(const Value& in, Place place, const std::string& key, Words allowed) {
    const auto meant = nearest(key, allowed);
    errors_.push_back(
        {place,
         fmt::format("unknown key {}{}", in_quotes(key), in.path.empty() ? "" : " in `" + in.path + "`"),
         meant.empty() ? "known here: " + join(allowed) : fmt::format("did you mean `{}`?", meant)});
}

std::optional<std::string> Reader::text(const Value& value, std::string_view what) {
    if (value.node->kind != YamlNode::Kind::scalar) {
        expected(value, what);
        return std::nullopt;
    }
    auto result = interpolate(value.node->text, environment_);
    if (!result.message.empty()) {
        auto at = value;
        if (value.node->verbatim && result.offset < value.node->text.size()) {
            const auto before = std::string_view(value.node->text).substr(0, result.offset);
            if (before.find('\n') == std::string_view::npos && value.place == value.node->place) {
                const auto continuation = [](char c) {
                    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
                };
                const auto wide = static_cast<std::size_t>(std::ranges::count_if(before, continuation));
                at.place.column += static_cast<int>(value.node->indent + before.size() - wide);
            }
        }
        if (value.secret && result.quotes_text) {
            error(at, "the `$` here is not followed by a variable that is set",
                  "a literal `$` is written `$$`");
        } else {
            error(at, result.message, result.hint);
        }
        return std::nullopt;
    }
    if (result.text.find('\0') != std::string::npos) {
        error(value, "the text holds a NUL character, which no program can take", "remove it");
        return std::nullopt;
    }
    return std::move(result.text);
}

std::optional<std::string> Reader::line(const Value& value, std::string_view what) {
    auto result = text(value, what);
    if (!result) {
        return std::nullopt;
    }
    if (result->empty()) {
        error(value, fmt::format("expected {}, found empty text", what),
              "give the key a value, or remove it");
        return std::nullopt;
    }
    if (has_control(*result)) {
        error(value, fmt::format("{} cannot hold a line break, a tab or another control character", what),
              value.secret ? "" : "found " + in_quotes(*result));
        return std::nullopt;
    }
    return result;
}

std::optional<std::int64_t> Reader::integer(const Value& value, std::int64_t min, std::int64_t max) {
    const auto digits = text(value, "a whole number");
    if (!digits) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    const auto* end = digits->data() + digits->size();
    const auto [stop, problem] = std::from_chars(digits->data(), end, number);
    const auto shown = in_quotes(*digits);
    if (problem == std::errc::invalid_argument || stop != end) {
        const bool two = digits->find(':') != std::string::npos;
        error(value, fmt::format("expected a whole number, found {}", digits->empty() ? "empty text" : shown),
              two ? "one number, not a pair" : "decimal digits only");
        return std::nullopt;
    }
    const auto first = digits->find_first_not_of('-');
    if ((*digits)[first] == '0' && digits->size() > first + 1) {
        error(value, fmt::format("{} begins with a zero: decimal or octal?", shown),
              "write it in decimal, without the zero");
        return std::nullopt;
    }
    if (problem != std::errc{} || number < min || number > max) {
        error(value, fmt::format("{} is out of range", shown), fmt::format("from {} to {}", min, max));
        return std::nullopt;
    }
    return number;
}

std::optional<bool> Reader::boolean(const Value& value) {
    const auto word = text(value, "true or false");
    if (!word) {
        return std::nullopt;
    }
    if (*word == "true" || *word == "True" || *word == "TRUE") {
        return true;
    }
    if (*word == "false" || *word == "False" || *word == "FALSE") {
        return false;
    }
    static constexpr std::string_view yes[]{"yes", "on", "y", "1"};
    static constexpr std::string_view no[]{"no", "off", "n", "0"};
    const auto lower = to_lower(*word);
    const bool means_yes = std::ranges::find(yes, lower) != std::end(yes);
    const bool means_no = std::ranges::find(no, lower) != std::end(no);
    error(value,
          fmt::format("expected true or false, found {}", word->empty() ? "empty text" : in_quotes(*word)),
          means_yes  ? "write `true`"
          : means_no ? "write `false`"
                     : "");
    return std::nullopt;
}

std::optional<Bytes> Reader::size(const Value& value) {
    const auto written = text(value, "a size");
    if (!written) {
        return std::nullopt;
    }
    const auto size = parse_size(*written);
    if (!size) {
        error(value,
              fmt::format("expected a size, found {}", written->empty() ? "empty text" : in_quotes(*written)),
              "a size is written `64g`, `512m`, `1.5GiB` or as a number of bytes");
    }
    return size;
}

std::optional<std::size_t> Reader::word(const Value& value, Words words) {
    const auto given = text(value, "one of " + join(words));
    if (!given) {
        return std::nullopt;
    }
    const auto at = std::ranges::find(words, *given);
    if (at != words.end()) {
        return static_cast<std::size_t>(at - words.begin());
    }
    const auto meant = nearest(*given, words);
    error(value,
          fmt::format("expected one of {}, found {}", join(words),
                      given->empty() ? "empty text" : in_quotes(*given)),
          meant.empty() ? "" : fmt::format("did you mean `{}`?", meant));
    return std::nullopt;
}

std::vector<Value> Reader::list(const Value& value, std::string_view what, std::string hint) {
    std::vector<Value> items;
    if (value.node->kind == YamlNode::Kind::list && value.node->items.size() > max_items) {
        error(value, fmt::format("the list has {} items, more than {}", value.node->items.size(), max_items),
              "is this the right file?");
    } else if (value.node->kind == YamlNode::Kind::list) {
        for (std::size_t i = 0; i < value.node->items.size(); ++i) {
            items.push_back(value.item(i));
        }
    } else if (value.node->kind != YamlNode::Kind::null) {
        expected(value, what, std::move(hint));
    }
    return items;
}

bool Reader::is_map(const Value& value, std::string_view what, std::string hint) {
    if (value.node->kind != YamlNode::Kind::map && value.node->kind != YamlNode::Kind::null) {
        expected(value, what, std::move(hint));
    }
    return value.node->kind == YamlNode::Kind::map;
}

std::optional<std::string> Reader::client_path(const Value& value, const std::string& path) {
    if (path == "~" || path.starts_with("~/")) {
        const auto home = environment_("HOME");
        if (!home || home->empty()) {
            error(value, "`~` means nothing while HOME is not set", "write the whole path");
            return std::nullopt;
        }
        return *home + path.substr(1);
    }
    return (folder_ / path).lexically_normal().string();
}

std::vector<YamlMistake> Reader::take_errors() {
    return in_order(std::move(errors_));
}

std::vector<YamlMistake> Reader::take_warnings() {
    return in_order(std::move(warnings_));
}

std::vector<YamlMistake> Reader::take_put_off() {
    return in_order(std::move(put_off_));
}

} // namespace dockdist

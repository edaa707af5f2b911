#include "client/spec/yaml_source.hpp"

#include "shared/core/byte_order_mark.hpp"
#include "shared/core/units.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

bool is_refused_control(char32_t c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0 && c != 0x85);
}

bool is_utf16(std::string_view text) {
    return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

} // namespace

YamlSource::YamlSource(std::string_view text) : text_(without_byte_order_mark(text)) {
    line_starts_.push_back(0);
    for (auto at = text_.find('\n'); at != std::string_view::npos; at = text_.find('\n', at + 1)) {
        line_starts_.push_back(at + 1);
    }
}

std::optional<YamlMistake> YamlSource::obstacle() const {
    if (text_.size() > max_yaml_bytes) {
        return YamlMistake{{},
                           fmt::format("the file has {}, more than the {} that a cluster.yaml may have",
                                       format_size({text_.size()}), format_size({max_yaml_bytes})),
                           "is this the right file?"};
    }
    if (is_utf16(text_)) {
        return YamlMistake{{}, "the file is UTF-16", "save it as UTF-8"};
    }
    bool blank = true;
    for (std::size_t at = 0; at < text_.size();) {
        const auto character = decode_utf8(text_.substr(at));
        if (character.size == 0) {
            return YamlMistake{
                place(at), fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text_[at])),
                "save the file as UTF-8"};
        }
        if (is_refused_control(character.code_point)) {
            return YamlMistake{place(at),
                               fmt::format("there is a control character (U+{:04X}) here",
                                           static_cast<unsigned>(character.code_point)),
                               "remove it"};
        }
        blank = blank && std::string_view(" \t\r\n").find(text_[at]) != std::string_view::npos;
        at += character.size;
    }
    if (blank) {
        return YamlMistake{{}, "the file is empty", "`dockdist init` writes one to start from"};
    }
    return std::nullopt;
}

Place YamlSource::place(int line, int byte) const {
    const auto index = std::min(static_cast<std::size_t>(std::max(line, 0)), line_starts_.size() - 1);
    const auto offset = line_starts_[index] + static_cast<std::size_t>(std::max(byte, 0));
    return place(std::min(offset, text_.size()));
}

std::string_view YamlSource::line(int number) const {
    const auto index = static_cast<std::size_t>(number);
    if (number < 0 || index >= line_starts_.size()) {
        return {};
    }
    const auto rest = text_.substr(line_starts_[index]);
    return rest.substr(0, rest.find('\n'));
}

Place YamlSource::place(std::size_t offset) const {
    const auto next = std::ranges::upper_bound(line_starts_, offset);
    const auto index = static_cast<std::size_t>(next - line_starts_.begin()) - 1;
    // Places are asked for nearly in order: counting on from the last one keeps a file of one long line
    // linear.
    const bool goes_on = last_offset_ >= line_starts_[index] && last_offset_ <= offset;
    const auto from = goes_on ? last_offset_ : line_starts_[index];
    const auto passed = text_.substr(from, offset - from);
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    last_column_ = (goes_on ? last_column_ : 1) + static_cast<int>(std::ranges::count_if(passed, starts));
    last_offset_ = offset;
    return {.line = static_cast<int>(index) + 1, .column = last_column_};
}

} // namespace dockdist

#include "client/report/error_text.hpp"

#include "client/report/display_text.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t hanging_indent = 4;

void append_indented(std::string& result, std::string_view text, std::string_view indent) {
    text = text.substr(0, text.find_last_not_of("\r\n") + 1);
    bool first = true;
    for (const auto& line : split(text, '\n')) {
        if (!first) {
            result += '\n';
            result += indent;
        }
        result += printable(line);
        first = false;
    }
}

std::string located(std::string_view where, std::string_view text) {
    std::string result;
    if (!where.empty()) {
        result += printable(where) + ": ";
    }
    append_indented(result, text, "    ");
    return result + '\n';
}

} // namespace

std::string styled(std::string_view text, std::string_view style, bool colour) {
    std::string result;
    if (colour) {
        result += style;
    }
    result += text;
    if (colour) {
        result += sgr_reset;
    }
    return result;
}

// What stands in lines already, as this output takes it.
std::string laid_out(std::string lines, const OutputTraits& traits) {
    return wrap_words(traits.ascii_only() ? ascii_signs(lines) : lines, traits.columns, hanging_indent);
}

std::string error_text(const Error& error, const OutputTraits& traits) {
    std::string result =
        styled("error:", style::bold_red, traits.colour) + ' ' + located(error.where, error.message);
    if (!error.hint.empty()) {
        result += traits.unicode ? "  → " : "  -> ";
        append_indented(result, error.hint, "    ");
        result += '\n';
    }
    return laid_out(std::move(result), traits);
}

std::string warning_text(std::string_view subject, std::string_view text, const OutputTraits& traits) {
    return laid_out(styled("warning:", style::yellow, traits.colour) + ' ' + located(subject, text), traits);
}

std::string waited_text(std::chrono::milliseconds time) {
    return "waited " + format_duration(time);
}

std::string note_text(std::string_view subject, std::string_view text, const OutputTraits& traits) {
    return laid_out(located(subject, text), traits);
}

} // namespace dockdist

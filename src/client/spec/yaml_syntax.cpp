#include "client/spec/yaml_syntax.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

bool has_tab_in_indentation(std::string_view line) {
    const auto indentation = line.substr(0, line.find_first_not_of(" \t"));
    return indentation.find('\t') != std::string_view::npos;
}

struct SyntaxMeaning {
    std::string_view message_of_yaml_cpp;
    std::string_view message;
    std::string_view hint;
};

constexpr std::string_view check_indentation =
    "keys of one map begin in the same column; quote text that contains `: `";

const std::array meanings{
    SyntaxMeaning{YAML::ErrorMsg::MAP_VALUE, "there is a `:` where no key is allowed", check_indentation},
    SyntaxMeaning{YAML::ErrorMsg::MAP_KEY, "there is a key where none is allowed", check_indentation},
    SyntaxMeaning{YAML::ErrorMsg::BLOCK_ENTRY, "there is a `-` where no list item is allowed",
                  "put the list's items below its key"},
    SyntaxMeaning{YAML::ErrorMsg::END_OF_MAP, "this line fits no map above it", check_indentation},
    SyntaxMeaning{YAML::ErrorMsg::END_OF_SEQ, "this line fits no list above it",
                  "items of one list begin in the same column"},
    SyntaxMeaning{YAML::ErrorMsg::END_OF_SEQ_FLOW,
                  "a `[` is not closed, or its items are not separated by commas", "close it with `]`"},
    SyntaxMeaning{YAML::ErrorMsg::END_OF_MAP_FLOW,
                  "a `{` is not closed, or its keys are not separated by commas", "close it with `}`"},
    SyntaxMeaning{YAML::ErrorMsg::FLOW_END, "a bracket is closed that was never opened",
                  "remove it, or quote the text"},
    SyntaxMeaning{YAML::ErrorMsg::UNKNOWN_TOKEN, "text cannot begin with this character",
                  "put it between quotation marks"},
    SyntaxMeaning{YAML::ErrorMsg::UNKNOWN_ANCHOR, "this alias names no anchor",
                  "define it further up with `&NAME`"},
    SyntaxMeaning{YAML::ErrorMsg::EOF_IN_SCALAR, "a quotation mark is not closed", "close it"},
    SyntaxMeaning{YAML::ErrorMsg::DOC_IN_SCALAR, "a quotation mark is not closed before `---`", "close it"},
};

} // namespace

YamlMistake explain(const YAML::Exception& error, const YamlSource& source) {
    const auto place = error.mark.is_null() ? Place{} : source.place(error.mark.line, error.mark.column);
    const auto line = source.line(place.line - 1);
    if (has_tab_in_indentation(line)) {
        return {{place.line, 1},
                "there is a tab in the indentation",
                "indent with spaces: YAML allows no tabs there"};
    }
    const auto* meaning = std::ranges::find_if(
        meanings, [&](const SyntaxMeaning& m) { return error.msg.starts_with(m.message_of_yaml_cpp); });
    if (meaning == meanings.end()) {
        return {place, "this is not YAML: " + printable(error.msg), ""};
    }
    std::string hint(meaning->hint);
    if (line.find("${") != std::string_view::npos && line.find_first_of("[{") < line.find("${")) {
        hint = "between [ ] and { } a variable needs quotation marks: \"${VAR}\"";
    }
    return {place, std::string(meaning->message), hint};
}

std::optional<YamlMistake> unclosed_quote(const YamlSource& source, std::size_t offset, Place place) {
    auto rest = source.text().substr(std::min(offset, source.text().size()));
    while (rest.starts_with('!') || rest.starts_with('&')) {
        rest.remove_prefix(std::min(rest.find_first_of(" \t\r\n"), rest.size()));
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    }
    if (!rest.starts_with('"') && !rest.starts_with('\'')) {
        return std::nullopt;
    }
    const char quote = rest.front();
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (quote == '"' && rest[i] == '\\') {
            ++i;
        } else if (rest[i] == quote) {
            if (quote == '"' || i + 1 >= rest.size() || rest[i + 1] != quote) {
                return std::nullopt;
            }
            ++i;
        }
    }
    return YamlMistake{place, fmt::format("the quotation mark {} is not closed", quote), "close it"};
}

} // namespace dockdist

#include "client/sync/missing_file.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace dockdist {
namespace {

constexpr std::size_t most_paths = 32;
constexpr std::size_t longest_path = 4096;

bool says_that_it_misses_something(std::string_view line) {
    constexpr std::array<std::string_view, 18> words{
        "No such file", "FileNotFound",  "not found",     "does not exist",  "doesn't exist",
        "annot open",   "an't open",     "ould not open", "nable to open",   "annot find",
        "an't find",    "ould not find", "nable to find", "No module named", "NotFoundError",
        "not a file",   "not a local",   "there is no "};
    return std::ranges::any_of(
        words, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

bool is_module(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.';
    });
}

class Paths {
public:
    void read(std::string_view line) {
        constexpr std::string_view module_words = "No module named ";
        if (const auto at = line.find(module_words); at != std::string_view::npos) {
            add_module(line.substr(at + module_words.size()));
        }
        // Between quotes, where a name may have blanks; and words.
        for (const char quote : {'\'', '"', '`'}) {
            for (auto begin = opening(line, quote, 0); begin != std::string_view::npos;) {
                const auto end = line.find(quote, begin + 1);
                if (end == std::string_view::npos) {
                    break;
                }
                add(line.substr(begin + 1, end - begin - 1));
                begin = opening(line, quote, end + 1);
            }
        }
        for (auto rest = line; !rest.empty();) {
            const auto begin = std::min(rest.find_first_not_of(separators), rest.size());
            const auto end = std::min(rest.find_first_of(separators, begin), rest.size());
            auto word = rest.substr(begin, end - begin);
            while (word.ends_with(':') || word.ends_with('.')) {
                word.remove_suffix(1);
            }
            if (word.find_first_of("/.") != std::string_view::npos) {
                add(word);
            }
            rest.remove_prefix(end);
        }
    }
    std::vector<std::string> found{};

private:
    static constexpr std::string_view separators = " \t'\"`()[]{}<>,;=";

    // A quote that is no apostrophe, as in "can't".
    static std::size_t opening(std::string_view line, char quote, std::size_t from) {
        auto at = line.find(quote, from);
        while (at != std::string_view::npos && at > 0 && is_module(line.substr(at - 1, 1))) {
            at = line.find(quote, at + 1);
        }
        return at;
    }

    void add(std::string_view path) {
        if (path.starts_with("file://")) {
            path.remove_prefix(7);
        }
        if (!path.empty() && path.size() <= longest_path && found.size() < most_paths &&
            std::ranges::find(found, path) == found.end()) {
            found.emplace_back(path);
        }
    }

    // "data.loader" is data/loader.py, or a folder; what is missing may be the first of these already.
    void add_module(std::string_view rest) {
        const auto begin = std::min(rest.find_first_not_of("'\""), rest.size());
        std::string name(rest.substr(begin, rest.find_first_of("'\"; ", begin) - begin));
        if (!is_module(name)) {
            return;
        }
        std::ranges::replace(name, '.', '/');
        add(name + ".py");
        for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
            add(name.substr(0, slash));
        }
        add(name);
    }
};

} // namespace

std::vector<std::string> missing_paths(std::string_view text) {
    Paths paths;
    for (const auto& line : split(text, '\n')) {
        if (says_that_it_misses_something(line)) {
            paths.read(line);
        }
    }
    return std::move(paths.found);
}

std::string name_in_tree(std::string_view path, const std::string& folder, const std::string& target) {
    const auto whole = (std::filesystem::path(folder) / path).lexically_normal();
    const auto name =
        whole.lexically_relative(std::filesystem::path(target).lexically_normal()).generic_string();
    const bool inside = !name.empty() && name != "." && name != ".." && !name.starts_with("../");
    return inside ? name.substr(0, name.find_last_not_of('/') + 1) : std::string();
}

std::string rule_text(const IgnoreRules::Reason& reason) {
    const auto place = reason.group == IgnoreRules::Group::exclude ? "`exclude` of the file"
                       : reason.line > 0 ? fmt::format("{}:{}", printable(reason.from), reason.line)
                                         : printable(reason.from);
    return fmt::format("`{}` in {}", printable(reason.rule), place);
}

std::string how_to_send(const IgnoreRules::Reason& reason) {
    const auto name = printable(reason.name) + (reason.folder ? "/" : "");
    switch (reason.group) {
    case IgnoreRules::Group::exclude:
        return "take it out of `exclude` of that `sync`";
    case IgnoreRules::Group::dockdist:
        return fmt::format("a line `!/{}` at the end of .dockdistignore sends it", name);
    default:
        return fmt::format(
            "a line `!/{}` in .dockdistignore, beside what `sync` names, sends it; `data` in the file "
            "brings large files to all hosts",
            name);
    }
}

} // namespace dockdist

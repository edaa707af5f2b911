// What matches is what matches in git's wildmatch.c (WM_PATHNAME); how, is not.
#include "client/sync/wildmatch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace dockdist {
namespace {

bool is_in_class(std::string_view name, unsigned char c) {
    using Test = int (*)(int);
    static constexpr std::array<std::pair<std::string_view, Test>, 12> classes{{{"alnum", std::isalnum},
                                                                                {"alpha", std::isalpha},
                                                                                {"blank", std::isblank},
                                                                                {"cntrl", std::iscntrl},
                                                                                {"digit", std::isdigit},
                                                                                {"graph", std::isgraph},
                                                                                {"lower", std::islower},
                                                                                {"print", std::isprint},
                                                                                {"punct", std::ispunct},
                                                                                {"space", std::isspace},
                                                                                {"upper", std::isupper},
                                                                                {"xdigit", std::isxdigit}}};
    const auto found = std::ranges::find(classes, name, &std::pair<std::string_view, Test>::first);
    return found != classes.end() && found->second(c) != 0;
}

// Whether `c` is in the set that begins behind its '['; moves `pattern` behind the ']'. An open set matches
// nothing, and `pattern` is then empty.
bool match_set(std::string_view& pattern, unsigned char c) {
    bool negated = false;
    bool matched = false;
    std::size_t i = 0;
    if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) {
        negated = true;
        ++i;
    }
    int previous = -1;
    for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
        auto p = static_cast<unsigned char>(pattern[i]);
        if (p == '[' && pattern.substr(i).starts_with("[:")) {
            const auto end = pattern.find(":]", i + 2);
            if (end != std::string_view::npos) {
                matched = matched || is_in_class(pattern.substr(i + 2, end - i - 2), c);
                i = end + 2;
                previous = -1;
                continue;
            }
        }
        if (p == '-' && previous >= 0 && i + 1 < pattern.size() && pattern[i + 1] != ']') {
            auto last = static_cast<unsigned char>(pattern[++i]);
            if (last == '\\' && i + 1 < pattern.size()) {
                last = static_cast<unsigned char>(pattern[++i]);
            }
            matched = matched || (c >= previous && c <= last);
            previous = -1;
            ++i;
            continue;
        }
        if (p == '\\' && i + 1 < pattern.size()) {
            p = static_cast<unsigned char>(pattern[++i]);
        }
        matched = matched || c == p;
        previous = p;
        ++i;
    }
    if (i >= pattern.size()) {
        pattern = {};
        return false;
    }
    pattern.remove_prefix(i + 1);
    return matched != negated && c != '/';
}

// Whether the first character of `text`, which is one, fits the front of `pattern`, which is no star; moves
// both behind it.
bool match_one(std::string_view& pattern, std::string_view& text) {
    auto p = pattern.front();
    const auto c = text.front();
    text.remove_prefix(1);
    pattern.remove_prefix(1);
    if (p == '?') {
        return c != '/';
    }
    if (p == '[') {
        return match_set(pattern, static_cast<unsigned char>(c));
    }
    if (p == '\\' && !pattern.empty()) {
        p = pattern.front();
        pattern.remove_prefix(1);
    }
    return p == c;
}

// Where a star stands: what follows it, and the text behind what it has taken so far.
struct Star {
    std::string_view pattern{}, text{};
};

// Lets a `**/` take one folder more.
bool take_folder(Star& star) {
    const auto slash = star.text.find('/');
    star.text.remove_prefix(slash == std::string_view::npos ? 0 : slash + 1);
    return slash != std::string_view::npos;
}

// Lets a `*` take one character more, and those that what follows it cannot begin with.
bool take_character(Star& star) {
    if (star.text.empty() || star.text.front() == '/') {
        return false;
    }
    star.text.remove_prefix(1);
    const char next = star.pattern.empty() ? '?' : star.pattern.front();
    if (next == '?' || next == '[' || next == '\\' || next == '/') {
        return true;
    }
    for (const char& c : star.text) {
        if (c == next || c == '/') {
            star.text.remove_prefix(static_cast<std::size_t>(&c - star.text.data()));
            return c == next;
        }
    }
    return false;
}

} // namespace

// Only the last `*` and the last `**` can have to take more: as each takes the least that it can, a star
// before the last one would leave less text to what follows, and never more. So the time grows with the
// product of the lengths at most, whatever the pattern.
bool wildmatch(std::string_view pattern, std::string_view text) {
    std::optional<Star> star;    // within the present component
    std::optional<Star> folders; // of a `**/`
    bool at_component = true;    // of the pattern
    while (true) {
        if (pattern.empty() && text.empty()) {
            return true;
        }
        if (pattern.starts_with('*')) {
            const auto stars = std::min(pattern.find_first_not_of('*'), pattern.size());
            const auto rest = pattern.substr(stars);
            const bool escaped = rest.starts_with("\\/");
            if (stars == 1 || !at_component || !(rest.empty() || rest.front() == '/' || escaped)) {
                pattern = rest;
                star = Star{pattern, text};
            } else if (rest.empty()) {
                return true;
            } else {
                pattern = rest.substr(escaped ? 2 : 1);
                folders = Star{pattern, text};
                star.reset();
                // `**/` stands for no folder, too; with an escaped slash it does not.
                if (escaped && !take_folder(*folders)) {
                    return false;
                }
                text = folders->text;
                continue;
            }
            at_component = false;
            continue;
        }
        if (!pattern.empty() && !text.empty()) {
            const bool slash = text.front() == '/';
            if (match_one(pattern, text)) {
                at_component = slash;
                if (slash) {
                    star.reset();
                }
                continue;
            }
        }
        if (star && take_character(*star)) {
            pattern = star->pattern;
            text = star->text;
            at_component = false;
        } else if (folders && take_folder(*folders)) {
            pattern = folders->pattern;
            text = folders->text;
            star.reset();
            at_component = true;
        } else {
            return false;
        }
    }
}

} // namespace dockdist

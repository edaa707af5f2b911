// After git's wildmatch.c (WM_PATHNAME), which is after Rich Salz's.
#include "sync/wildmatch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace dockdist {
namespace {

// no_more: not even if `*` took more of the text; to_starstar: not unless it is a `**` that does.
enum class Match { yes, no, no_more, to_starstar };

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

Match match(std::string_view pattern, std::string_view text, std::string_view whole);

// `pattern` begins with '*'.
Match match_star(std::string_view pattern, std::string_view text, std::string_view whole) {
    const auto at = whole.size() - pattern.size();
    const auto stars = std::min(pattern.find_first_not_of('*'), pattern.size());
    auto rest = pattern.substr(stars);
    bool over_slashes = false;
    if (stars > 1 && (at == 0 || whole[at - 1] == '/') &&
        (rest.empty() || rest.front() == '/' || rest.starts_with("\\/"))) {
        over_slashes = true;
        if (rest.starts_with('/') && match(rest.substr(1), text, whole) == Match::yes) {
            return Match::yes; // `**/` stands for no folder, too
        }
    }
    if (rest.empty()) {
        return over_slashes || text.find('/') == std::string_view::npos ? Match::yes : Match::to_starstar;
    }
    if (!over_slashes && rest.front() == '/') {
        const auto slash = text.find('/');
        return slash == std::string_view::npos ? Match::no_more : match(rest, text.substr(slash), whole);
    }
    while (!text.empty()) {
        const auto matched = match(rest, text, whole);
        if (matched != Match::no) {
            if (!over_slashes || matched != Match::to_starstar) {
                return matched;
            }
        } else if (!over_slashes && text.front() == '/') {
            return Match::to_starstar;
        }
        text.remove_prefix(1);
    }
    return Match::no_more;
}

// `pattern` is a rear part of `whole`.
Match match(std::string_view pattern, std::string_view text, std::string_view whole) {
    while (!pattern.empty()) {
        if (pattern.front() == '*') {
            return match_star(pattern, text, whole);
        }
        if (text.empty()) {
            return Match::no_more;
        }
        auto p = pattern.front();
        const auto c = text.front();
        text.remove_prefix(1);
        pattern.remove_prefix(1);
        if (p == '?') {
            if (c == '/') {
                return Match::no;
            }
        } else if (p == '[') {
            if (!match_set(pattern, static_cast<unsigned char>(c))) {
                return Match::no;
            }
        } else {
            if (p == '\\' && !pattern.empty()) {
                p = pattern.front();
                pattern.remove_prefix(1);
            }
            if (p != c) {
                return Match::no;
            }
        }
    }
    return text.empty() ? Match::yes : Match::no;
}

} // namespace

bool wildmatch(std::string_view pattern, std::string_view text) {
    return match(pattern, text, pattern) == Match::yes;
}

} // namespace dockdist

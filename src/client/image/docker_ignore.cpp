#include "client/image/docker_ignore.hpp"

#include "shared/core/byte_order_mark.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

// Characters; a byte that is none stands for itself, outside Unicode.
std::u32string characters(std::string_view text) {
    constexpr char32_t bytes = 0x110000;
    std::u32string result;
    while (!text.empty()) {
        const auto next = decode_utf8(text);
        result += next.size > 0 ? next.code_point : bytes + static_cast<unsigned char>(text.front());
        text.remove_prefix(std::max<std::size_t>(next.size, 1));
    }
    return result;
}

constexpr std::string_view blanks = " \t\r\n\v\f";

// As Go's filepath.Clean: no empty components, no ".", no ".." but in front.
std::string cleaned(std::string_view path) {
    const bool rooted = path.starts_with('/');
    std::vector<std::string> kept;
    for (const auto& component : split(path, '/')) {
        if (component.empty() || component == ".") {
            continue;
        }
        if (component == ".." && !kept.empty() && kept.back() != "..") {
            kept.pop_back();
        } else if (component != ".." || !rooted) {
            kept.push_back(component);
        }
    }
    std::string result;
    for (const auto& component : kept) {
        result += (result.empty() ? "" : "/") + component;
    }
    return rooted ? "/" + result : result;
}

} // namespace

// `pattern` begins behind the '[' and is moved behind the ']'. False: Go's filepath.Match refuses it.
bool DockerIgnore::parse_set(std::u32string_view& pattern, Part& part) {
    part.kind = Part::Kind::set;
    if (pattern.starts_with(U'^')) {
        part.negated = true;
        pattern.remove_prefix(1);
    }
    const auto take = [&](char32_t& character) {
        if (pattern.empty() || pattern.front() == U'-' || pattern.front() == U']') {
            return false;
        }
        if (pattern.front() == U'\\') {
            pattern.remove_prefix(1);
        }
        if (pattern.empty()) {
            return false;
        }
        character = pattern.front();
        pattern.remove_prefix(1);
        return true;
    };
    while (part.ranges.empty() || !pattern.starts_with(U']')) {
        Range range;
        if (!take(range.first)) {
            return false;
        }
        range.last = range.first;
        if (pattern.starts_with(U'-')) {
            pattern.remove_prefix(1);
            if (!take(range.last)) {
                return false;
            }
        }
        part.ranges.push_back(range);
    }
    pattern.remove_prefix(1);
    return true;
}

bool DockerIgnore::parse_pattern(std::u32string_view pattern, Rule& rule) {
    using Kind = Part::Kind;
    // Docker's client takes `**name`, with no other special character, for any name that ends so.
    if (pattern.starts_with(U"**") && !pattern.starts_with(U"**/") &&
        pattern.find_first_of(U"*?[]\\", 2) == std::u32string_view::npos) {
        rule.parts.push_back({.kind = Kind::everything});
        pattern.remove_prefix(2);
    }
    while (!pattern.empty()) {
        Part part{.character = pattern.front()};
        pattern.remove_prefix(1);
        if (part.character == U'*' && pattern.starts_with(U'*')) {
            pattern.remove_prefix(pattern.starts_with(U"*/") ? 2 : 1);
            part.kind = pattern.empty() ? Kind::everything : Kind::folders;
        } else if (part.character == U'*') {
            part.kind = Kind::star;
        } else if (part.character == U'?') {
            part.kind = Kind::any;
        } else if (part.character == U'[') {
            if (!parse_set(pattern, part)) {
                return false;
            }
        } else if (part.character == U'\\') {
            if (pattern.empty()) {
                return false;
            }
            part.character = pattern.front();
            pattern.remove_prefix(1);
        }
        rule.parts.push_back(std::move(part));
    }
    return true;
}

Result<DockerIgnore> DockerIgnore::parse(std::string_view text, const std::string& file) {
    DockerIgnore rules;
    int number = 0;
    for (const auto& line : split(without_byte_order_mark(text), '\n')) {
        ++number;
        auto pattern = line.starts_with('#') ? std::string_view() : trimmed(line, blanks);
        const auto whole = pattern;
        Rule rule;
        if (pattern.starts_with('!')) {
            rule.keep = true;
            pattern = trimmed(pattern.substr(1), blanks);
        }
        auto path = cleaned(pattern);
        if (path.size() > 1 && path.starts_with('/')) {
            path.erase(0, 1);
        }
        const bool lone = rule.keep && pattern.empty();
        if (lone || !parse_pattern(characters(path), rule)) {
            return Error{
                ErrorKind::config, fmt::format("{}:{}", file, number),
                fmt::format("'{}' is not a pattern", printable(whole)),
                lone ? "write the name of what is to be sent after the '!'"
                     : "close each '[' by a ']', and write \\ before a character that is meant literally"};
        }
        if (!rule.parts.empty() && path != "/") { // Docker takes "." and "/" for nothing
            rules.rules_.push_back(std::move(rule));
        }
    }
    return rules;
}

void DockerIgnore::keep(std::string_view name) {
    add_name(name, true);
}

void DockerIgnore::drop(std::string_view name) {
    add_name(name, false);
}

void DockerIgnore::drop_all() {
    rules_.assign(1, Rule{.parts = {{.kind = Part::Kind::everything}}});
}

void DockerIgnore::add_name(std::string_view name, bool keep) {
    Rule rule{.keep = keep};
    for (const auto character : characters(name)) {
        rule.parts.push_back({.character = character});
    }
    rules_.push_back(std::move(rule));
}

// All the ways a pattern can match are followed at once, so that no pattern takes long: `now[i]` says that
// the name so far fits the parts before i.
DockerIgnore::Outcome DockerIgnore::match(const Rule& rule, std::u32string_view name) {
    using Kind = Part::Kind;
    const auto& parts = rule.parts;
    std::vector<char> now(parts.size() + 1, 0);
    std::vector<char> next(parts.size() + 1, 0);
    // Inside the `**/` at i, with no '/' at the end yet.
    std::vector<char> inside(parts.size() + 1, 0);
    const auto skip_empty = [&](std::vector<char>& states) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto kind = parts[i].kind;
            if (states[i] != 0 && (kind == Kind::star || kind == Kind::everything || kind == Kind::folders)) {
                states[i + 1] = 1;
            }
        }
    };
    now[0] = 1;
    skip_empty(now);
    for (const auto c : name) {
        if (c == U'/' && now.back() != 0) {
            return {.matched = true, .may_go_on = true}; // a folder above
        }
        std::ranges::fill(next, 0);
        bool alive = false;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& part = parts[i];
            if (part.kind == Kind::folders && (now[i] != 0 || inside[i] != 0)) {
                inside[i] = 1;
                if (c == U'/') {
                    next[i + 1] = 1;
                }
                alive = true;
                continue;
            }
            if (now[i] == 0) {
                continue;
            }
            bool fits = false;
            switch (part.kind) {
            case Kind::character:
                fits = c == part.character;
                break;
            case Kind::any:
                fits = c != U'/';
                break;
            case Kind::set:
                fits = part.negated != std::ranges::any_of(part.ranges, [c](const Range& range) {
                           return c >= range.first && c <= range.last;
                       });
                break;
            case Kind::star:
                if (c != U'/') {
                    next[i] = 1;
                }
                break;
            case Kind::everything:
                next[i] = 1;
                break;
            case Kind::folders:
                break;
            }
            if (fits) {
                next[i + 1] = 1;
            }
            alive = alive || fits || next[i] != 0;
        }
        if (!alive) {
            return {};
        }
        skip_empty(next);
        std::swap(now, next);
    }
    return {.matched = now.back() != 0, .may_go_on = true};
}

int DockerIgnore::deciding_rule(std::u32string_view name) const {
    for (auto i = static_cast<int>(rules_.size()) - 1; i >= 0; --i) {
        if (match(rules_[static_cast<std::size_t>(i)], name).matched) {
            return i;
        }
    }
    return -1;
}

bool DockerIgnore::ignored(std::string_view name) const {
    const int decided = deciding_rule(characters(name));
    return decided >= 0 && !rules_[static_cast<std::size_t>(decided)].keep;
}

bool DockerIgnore::may_keep_below(std::string_view folder) const {
    const auto name = characters(folder);
    // Rules before the one that leaves the folder out are overruled by it for all that lies below.
    const auto first = std::ptrdiff_t{deciding_rule(name)} + 1;
    return std::any_of(rules_.begin() + first, rules_.end(),
                       [&](const Rule& rule) { return rule.keep && match(rule, name + U'/').may_go_on; });
}

} // namespace dockdist

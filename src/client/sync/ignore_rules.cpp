#include "client/sync/ignore_rules.hpp"

#include "client/sync/wildmatch.hpp"
#include "shared/core/byte_order_mark.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

// Blanks at the end do not count, unless a backslash stands before them.
std::string_view without_trailing_blanks(std::string_view line) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) {
            end = ++i + 1;
        } else if (line[i] != ' ') {
            end = i + 1;
        }
    }
    return line.substr(0, end);
}

} // namespace

IgnoreRules::Rules IgnoreRules::parse(std::string_view lines, const std::string& from) {
    Rules rules;
    int number = 0;
    for (const auto& whole : split(without_byte_order_mark(lines), '\n')) {
        std::string_view line = whole;
        ++number;
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        line = without_trailing_blanks(line);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        Rule rule{.written = std::string(line), .from = from, .line = number};
        if (line.front() == '!') {
            rule.keep = true;
            line.remove_prefix(1);
        }
        if (line.ends_with('/')) {
            rule.folder_only = true;
            line.remove_suffix(1);
        }
        rule.anywhere = line.find('/') == std::string_view::npos;
        if (line.starts_with('/')) {
            line.remove_prefix(1);
        }
        if (!line.empty()) {
            rule.pattern = line;
            rules.push_back(std::move(rule));
        }
    }
    return rules;
}

void IgnoreRules::add(Group group, const std::string& base, std::string_view lines, const std::string& from) {
    auto rules = parse(lines, from);
    auto& all = rules_[static_cast<std::size_t>(group)][base];
    std::ranges::move(rules, std::back_inserter(all));
    untracked_.clear();
}

void IgnoreRules::add_last(const std::string& base, const std::string& prefix, std::string_view lines,
                           const std::string& from) {
    last_[base].push_back({prefix, parse(lines, from)});
    untracked_.clear();
}

void IgnoreRules::track(const std::string& base, const std::vector<std::string>& names) {
    for (const auto& name : names) {
        tracked_.insert(tracked_.end(), base.empty() ? name : base + "/" + name);
    }
    untracked_.clear();
}

bool IgnoreRules::tracks(std::string_view name, bool folder) const {
    if (tracked_.contains(name)) {
        return true;
    }
    const auto below = folder ? std::string(name) + "/" : std::string();
    const auto found = folder ? tracked_.lower_bound(below) : tracked_.end();
    return found != tracked_.end() && found->starts_with(below);
}

std::string_view IgnoreRules::repository_of(std::string_view name) const {
    for (auto slash = name.rfind('/'); slash != std::string_view::npos && !repositories_.empty();
         slash = slash == 0 ? std::string_view::npos : name.rfind('/', slash - 1)) {
        if (repositories_.contains(name.substr(0, slash))) {
            return name.substr(0, slash);
        }
    }
    return {};
}

const IgnoreRules::Rule* IgnoreRules::verdict(const Rules& rules, std::string_view path, bool folder) {
    const auto last = path.substr(path.rfind('/') + 1);
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
        if ((!rule->folder_only || folder) && wildmatch(rule->pattern, rule->anywhere ? last : path)) {
            return &*rule;
        }
    }
    return nullptr;
}

const IgnoreRules::Rule* IgnoreRules::verdict(Group group, std::string_view name, bool folder) const {
    const auto& all = rules_[static_cast<std::size_t>(group)];
    const auto repository = group == Group::git ? repository_of(name) : std::string_view();
    if (!all.empty()) {
        for (auto slash = name.rfind('/');; slash = name.rfind('/', slash - 1)) {
            const auto base = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
            if (const auto found = all.find(base); found != all.end()) {
                const auto path = base.empty() ? name : name.substr(slash + 1);
                if (const auto* said = verdict(found->second, path, folder)) {
                    return said;
                }
            }
            if (base.size() == repository.size()) {
                break;
            }
        }
    }
    const auto last = group == Group::git ? last_.find(repository) : last_.end();
    if (last != last_.end()) {
        const std::string own(name.substr(repository.empty() ? 0 : repository.size() + 1));
        for (const auto& above : last->second) {
            const auto path = above.prefix.empty() ? own : above.prefix + "/" + own;
            if (const auto* said = verdict(above.rules, path, folder)) {
                return said;
            }
        }
    }
    return nullptr;
}

IgnoreRules::Reason IgnoreRules::reason_of(const Rule& rule, Group group, std::string_view name,
                                           bool folder) {
    return {.rule = rule.written,
            .from = rule.from,
            .line = rule.line,
            .group = group,
            .name = std::string(name),
            .folder = folder};
}

const std::optional<IgnoreRules::Reason>& IgnoreRules::why_untracked(std::string_view folder) const {
    if (const auto known = untracked_.find(folder); known != untracked_.end()) {
        return known->second;
    }
    std::optional<Reason> reason;
    if (!folder.empty() && !repositories_.contains(folder) &&
        verdict(Group::exclude, folder, true) == nullptr &&
        verdict(Group::dockdist, folder, true) == nullptr) {
        const auto slash = folder.rfind('/');
        const auto* said = verdict(Group::git, folder, true);
        if (said != nullptr && !said->keep) {
            reason = reason_of(*said, Group::git, folder, true);
        } else if (said == nullptr && slash != std::string_view::npos) {
            reason = why_untracked(folder.substr(0, slash));
        }
    }
    return untracked_.emplace(folder, std::move(reason)).first->second;
}

std::optional<IgnoreRules::Reason> IgnoreRules::why(std::string_view name, bool folder) const {
    for (const auto group : {Group::exclude, Group::dockdist, Group::git, Group::always}) {
        if (group == Group::git && !tracked_.empty()) {
            if (tracks(name, folder)) {
                continue;
            }
            const auto slash = name.rfind('/');
            if (slash != std::string_view::npos) {
                if (const auto& reason = why_untracked(name.substr(0, slash))) {
                    return reason;
                }
            }
        }
        if (const auto* said = verdict(group, name, folder)) {
            return said->keep ? std::nullopt : std::optional(reason_of(*said, group, name, folder));
        }
    }
    return std::nullopt;
}

std::optional<IgnoreRules::Reason> IgnoreRules::why_below(std::string_view name, bool folder) const {
    for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
        if (auto reason = why(name.substr(0, slash), true)) {
            return reason;
        }
    }
    return why(name, folder);
}

bool IgnoreRules::ignored(std::string_view name, bool folder) const {
    return why_below(name, folder).has_value();
}

} // namespace dockdist

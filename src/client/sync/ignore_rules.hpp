// Which files stay behind: the rules of .gitignore files, with git's own meaning, of .dockdistignore files,
// and of `exclude`. What git tracks its rules leave in. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class IgnoreRules {
public:
    // The first group of these in which a rule matches decides. Within a group it is the innermost folder's
    // last rule that matches.
    enum class Group { exclude, dockdist, git, always };

    // The lines of a file in the folder `base` ("" is the tree's own). `from`: what people call it.
    void add(Group group, const std::string& base, std::string_view lines, const std::string& from = {});
    // The same for a folder above the tree, which has the name `prefix` there ("sub/project"); the nearer
    // ones first, all after those below.
    void add_above(const std::string& prefix, std::string_view lines, const std::string& from = {}) {
        add_last("", prefix, lines, from);
    }
    // A repository within the tree, in the folder `base`, as a submodule: git's rules from outside mean
    // nothing in it, and its own of lower rank come by add_last(), the nearer ones first.
    void add_repository(const std::string& base) { repositories_.insert(base); }
    void add_last(const std::string& base, const std::string& prefix, std::string_view lines,
                  const std::string& from);
    // Files that git tracks, and folders of submodules; sorted, from `base` on.
    void track(const std::string& base, const std::vector<std::string>& names);

    // Whether the file or folder is left out, or one of the folders above it is.
    bool ignored(std::string_view name, bool folder) const;
    // The same for a name whose folders are not left out.
    bool ignored_itself(std::string_view name, bool folder) const { return why(name, folder).has_value(); }

    // The rule that leaves it out.
    struct Reason {
        std::string rule{}; // as it is written
        std::string from{};
        int line = 0; // of it, from 1
        Group group = Group::always;
        std::string name{}; // what it leaves out: the file, or a folder above it
        bool folder = false;
        bool operator==(const Reason&) const = default;
    };
    // Of a name whose folders are not left out; and of any.
    std::optional<Reason> why(std::string_view name, bool folder) const;
    std::optional<Reason> why_below(std::string_view name, bool folder) const;

private:
    struct Rule {
        std::string pattern{};
        std::string written{};
        std::string from{};
        int line = 0;
        bool keep = false;        // "!pattern"
        bool folder_only = false; // "pattern/"
        bool anywhere = false;    // without a slash: any component of that name
    };
    using Rules = std::vector<Rule>;
    struct Above {
        std::string prefix{};
        Rules rules{};
    };

    static Rules parse(std::string_view lines, const std::string& from);
    static Reason reason_of(const Rule& rule, Group group, std::string_view name, bool folder);
    // The rule that decides; null: none matches.
    static const Rule* verdict(const Rules& rules, std::string_view path, bool folder);
    const Rule* verdict(Group group, std::string_view name, bool folder) const;
    // The folder of the innermost repository that the name stands in.
    std::string_view repository_of(std::string_view name) const;
    // The name itself, or what stands below the folder.
    bool tracks(std::string_view name, bool folder) const;
    // Why a file of this folder that git does not track is left out: the folder is kept for those that it
    // does.
    const std::optional<Reason>& why_untracked(std::string_view folder) const;

    std::map<std::string, Rules, std::less<>> rules_[4]{};
    std::set<std::string, std::less<>> repositories_{};
    std::map<std::string, std::vector<Above>, std::less<>> last_{}; // by repositories
    std::set<std::string, std::less<>> tracked_{};
    mutable std::map<std::string, std::optional<Reason>, std::less<>>
        untracked_{}; // by folders, as far as asked
};

} // namespace dockdist

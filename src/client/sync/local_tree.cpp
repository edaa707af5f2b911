#include "client/sync/local_tree.hpp"

#include "client/sync/git_files.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trusted_path.hpp"
#include "shared/tree/read_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace dockdist {
namespace {

using wire::TreeEntry;
using Group = IgnoreRules::Group;

// What a repository has beside its .gitignore files: in the folder `base` of the tree, or above the tree,
// which is called `prefix` there.
void add_repository(const GitFiles& files, const std::string& base, const std::string& prefix,
                    const UserExcludes& users, IgnoreRules& rules) {
    rules.add_last(base, prefix, files.exclude, files.exclude_path);
    rules.add_last(base, prefix, users.lines, users.path);
    if (prefix.empty()) {
        return rules.track(base, files.tracked);
    }
    if (other_writer(files.index)) {
        return; // whoever that is could let in what the tree's own rules leave out
    }
    const auto before = prefix + "/";
    std::vector<std::string> ours;
    for (auto name = std::ranges::lower_bound(files.tracked, before);
         name != files.tracked.end() && name->starts_with(before); ++name) {
        ours.push_back(name->substr(before.size()));
    }
    rules.track(base, ours);
}

// What git reads above the tree: up to the folder that has a .git, and of that repository.
void add_rules_above(const std::filesystem::path& tree, IgnoreRules& rules) {
    struct Found {
        std::string prefix{}, lines{}, path{};
    };
    std::vector<Found> found;
    std::string prefix;
    for (auto folder = tree;;) {
        if (const auto files = git_files_of(folder)) {
            for (const auto& [name, lines, path] : found) {
                rules.add_above(name, lines, path);
            }
            return add_repository(*files, "", prefix, user_excludes(), rules);
        }
        const auto parent = folder.parent_path();
        if (parent == folder) {
            return; // no repository: other people's .gitignore files above mean nothing
        }
        prefix = folder.filename().string() + (prefix.empty() ? "" : "/" + prefix);
        folder = parent;
        if (auto lines = read_regular_file(folder / ".gitignore")) {
            found.push_back({prefix, std::move(*lines), (folder / ".gitignore").string()});
        }
    }
}

// Of the folder `base` of the tree, which is at `tree`.
void read_rules(const std::filesystem::path& tree, Folder& folder, const std::string& base,
                IgnoreRules& rules) {
    if (const auto files = base.empty() ? std::nullopt : git_files_of(tree / base)) {
        rules.add_repository(base);
        add_repository(*files, base, "", user_excludes(), rules);
    }
    for (const auto& [name, group] :
         {std::pair(".gitignore", Group::git), std::pair(".dockdistignore", Group::dockdist)}) {
        const auto path = base.empty() ? std::string(name) : base + "/" + name;
        const auto file = open_file(folder, path);
        const auto lines = file.open() ? read_piece(file.get(), std::size_t{4} << 20U) : std::string();
        if (lines && !lines->empty()) {
            rules.add(group, base, *lines, path);
        }
    }
}

void add_options(IgnoreRules& rules, const ScanOptions& options, const std::filesystem::path& real) {
    for (const auto& pattern : options.exclude) {
        rules.add(Group::exclude, "", pattern, "`exclude`");
    }
    for (const auto& pattern : options.always) {
        rules.add(Group::always, "", pattern);
    }
    if (options.ignore_files) {
        rules.add(Group::always, "", ".git");
        add_rules_above(real, rules);
    }
}

class Scan {
public:
    Scan(Folder folder, const ScanOptions& options, LocalTree& tree)
        : folder_(std::move(folder)), options_(options), tree_(tree) {}

    Status enter(const std::string& name) {
        auto entries = list_folder(folder_, name);
        TRY(entries);
        const auto has_rules = [](const TreeEntry& entry) {
            return entry.name.ends_with(".gitignore") || entry.name.ends_with(".dockdistignore") ||
                   entry.name.ends_with("/.git");
        };
        if (options_.ignore_files && std::ranges::any_of(*entries, has_rules)) {
            read_rules(tree_.path, folder_, name, tree_.rules);
        }
        for (auto& entry : *entries) {
            if (auto taken = take(std::move(entry)); !taken) {
                return taken;
            }
        }
        return ok;
    }

private:
    void count(IgnoreRules::Reason reason) {
        auto& all = tree_.left_out_by_rules;
        const bool folder = reason.folder;
        auto known = std::ranges::find_if(all, [&](const LeftOutByRule& one) {
            return one.reason.rule == reason.rule && one.reason.from == reason.from &&
                   one.reason.line == reason.line;
        });
        if (known == all.end()) {
            known = all.insert(all.end(), {.reason = std::move(reason)});
        }
        ++(folder ? known->folders : known->files);
    }

    Status take(TreeEntry entry) {
        const bool is_folder = entry.type == TreeEntry::Type::folder;
        if (auto reason = tree_.rules.why(entry.name, is_folder)) {
            if (reason->group != Group::always) {
                count(std::move(*reason));
            }
            return ok;
        }
        if (entry.type == TreeEntry::Type::other) {
            tree_.left_out.push_back(printable(entry.name) + " is not a file, folder or link");
            return ok;
        }
        if (entry.type == TreeEntry::Type::link && !wire::stays_in_tree(entry.name, entry.target)) {
            tree_.left_out.push_back(printable(entry.name) + " is a link to " + printable(entry.target) +
                                     ", which leads out of the folder");
            return ok;
        }
        tree_.entries.push_back(entry);
        return is_folder ? enter(entry.name) : Status(ok);
    }

    Folder folder_;
    const ScanOptions& options_;
    LocalTree& tree_;
};

Error missing(const std::string& source, int number) {
    auto error = tree_error(printable(source), number);
    error.kind = number == ENOENT ? ErrorKind::usage : ErrorKind::node;
    if (number == ENOENT) {
        error.hint = "paths of `sync` are relative to cluster.yaml's folder";
    }
    return error;
}

} // namespace

void LocalTree::make_index() {
    index.clear();
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
        index.emplace(entries[i].name, i);
    }
}

Result<LocalTree> scan(const std::string& source, const ScanOptions& options) {
    LocalTree tree;
    std::error_code error;
    const auto real = std::filesystem::canonical(source, error);
    if (error) {
        return missing(source, error.value());
    }
    const bool is_file = std::filesystem::is_regular_file(real, error);
    const auto folder_path = is_file ? real.parent_path() : real;
    auto folder = Folder::open(folder_path.string());
    TRY(folder);
    tree.path = folder_path.string();
    if (is_file) {
        tree.single = real.filename().string();
        const auto file = open_file(*folder, tree.single);
        auto entry = file.open() ? entry_of(file.get(), options.file_name) : missing(source, errno);
        TRY(entry);
        tree.entries.push_back(std::move(*entry));
    } else {
        add_options(tree.rules, options, real);
        TRY(Scan(std::move(*folder), options, tree).enter(""));
    }
    tree.make_index();
    return tree;
}

std::optional<IgnoreRules::Reason> why_left_out(const std::string& source, const ScanOptions& options,
                                                const std::string& name) {
    std::error_code error;
    const auto real = std::filesystem::canonical(source, error);
    const auto status = error ? std::filesystem::file_status() : std::filesystem::status(real / name, error);
    auto folder = Folder::open(real.string());
    if (!std::filesystem::exists(status) || !folder) {
        return std::nullopt;
    }
    IgnoreRules rules;
    add_options(rules, options, real);
    for (std::size_t end = 0; options.ignore_files && end != std::string::npos;
         end = name.find('/', end + 1)) {
        if (end > 0 && rules.ignored(name.substr(0, end), true)) {
            break; // no scan comes to what stands there
        }
        read_rules(real, *folder, name.substr(0, end), rules);
    }
    return rules.why_below(name, std::filesystem::is_directory(status));
}

} // namespace dockdist

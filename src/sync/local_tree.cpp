#include "sync/local_tree.hpp"

#include "core/regular_file.hpp"
#include "core/text.hpp"
#include "tree/read_tree.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

namespace dockdist {
namespace {

using wire::TreeEntry;
using Group = IgnoreRules::Group;

// What git reads above the tree: up to the folder that has a .git, and that repository's own info/exclude.
void add_rules_above(const std::filesystem::path& tree, IgnoreRules& rules) {
    std::vector<std::pair<std::string, std::string>> found;
    std::error_code ignored;
    std::string prefix;
    for (auto folder = tree;;) {
        if (std::filesystem::exists(folder / ".git", ignored)) {
            for (const auto& [name, lines] : found) {
                rules.add_above(name, lines);
            }
            rules.add_above(prefix, read_regular_file(folder / ".git/info/exclude").value_or(""));
            return;
        }
        const auto parent = folder.parent_path();
        if (parent == folder) {
            return; // no repository: other people's .gitignore files above mean nothing
        }
        prefix = folder.filename().string() + (prefix.empty() ? "" : "/" + prefix);
        folder = parent;
        if (auto lines = read_regular_file(folder / ".gitignore")) {
            found.emplace_back(prefix, std::move(*lines));
        }
    }
}

class Scan {
public:
    Scan(Folder folder, const ScanOptions& options, LocalTree& tree)
        : folder_(std::move(folder)), options_(options), tree_(tree) {}

    Status enter(const std::string& name) {
        auto entries = list_folder(folder_, name);
        if (!entries) {
            return entries.error();
        }
        if (options_.ignore_files) {
            for (const auto& entry : *entries) {
                read_rules(entry, name);
            }
        }
        for (auto& entry : *entries) {
            if (auto taken = take(std::move(entry)); !taken) {
                return taken;
            }
        }
        return ok;
    }

private:
    void read_rules(const TreeEntry& entry, const std::string& base) {
        const auto last = std::string_view(entry.name).substr(entry.name.rfind('/') + 1);
        const bool git = last == ".gitignore";
        if (entry.type != TreeEntry::Type::file || (!git && last != ".dockdistignore")) {
            return;
        }
        const auto file = open_file(folder_, entry.name);
        const auto lines = file.open() ? read_piece(file.get(), std::size_t{4} << 20U) : std::string();
        if (lines) {
            tree_.rules.add(git ? Group::git : Group::dockdist, base, *lines);
        }
    }

    Status take(TreeEntry entry) {
        const bool is_folder = entry.type == TreeEntry::Type::folder;
        if (tree_.rules.ignored_itself(entry.name, is_folder)) {
            return ok;
        }
        if (entry.type == TreeEntry::Type::other) {
            tree_.left_out.push_back(printable(entry.name) + " is no file, folder or link");
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
        error.hint = "paths of `sync` count from cluster.yaml's folder";
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
    if (!folder) {
        return folder.error();
    }
    tree.path = folder_path.string();
    if (is_file) {
        tree.single = real.filename().string();
        const auto file = open_file(*folder, tree.single);
        auto entry = file.open() ? entry_of(file.get(), options.file_name) : missing(source, errno);
        if (!entry) {
            return entry.error();
        }
        tree.entries.push_back(std::move(*entry));
    } else {
        for (const auto& pattern : options.exclude) {
            tree.rules.add(Group::exclude, "", pattern);
        }
        for (const auto& pattern : options.always) {
            tree.rules.add(Group::always, "", pattern);
        }
        if (options.ignore_files) {
            tree.rules.add(Group::always, "", ".git");
            add_rules_above(real, tree.rules);
        }
        if (auto scanned = Scan(std::move(*folder), options, tree).enter(""); !scanned) {
            return scanned.error();
        }
    }
    tree.make_index();
    return tree;
}

} // namespace dockdist

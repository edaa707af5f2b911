// What git knows of a work tree beside its .gitignore files. Runs no git, and nothing that a repository
// names: it may be somebody else's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct GitFiles {
    std::filesystem::path index{};
    std::vector<std::string> tracked{}; // from the work tree's folder on, sorted
    std::string exclude{};              // the lines of info/exclude
    std::string exclude_path{};         // for people
};

// Of a folder with a .git: a repository's, or a file that leads to one, as those of further work trees (`git
// worktree add`) and of submodules do. Nothing: it has none.
std::optional<GitFiles> git_files_of(const std::filesystem::path& folder);

// The user's own rules for all repositories: core.excludesFile of ~/.gitconfig or git/config below
// XDG_CONFIG_HOME, else git/ignore there.
struct UserExcludes {
    std::string lines{};
    std::string path{}; // for people
};
UserExcludes user_excludes();

// The file that core.excludesFile of a git configuration names; the last one counts. Nothing: it names none.
// Pure; `home` stands for ~.
std::optional<std::string> excludes_file_of(const std::string& config, const std::string& home);

} // namespace dockdist

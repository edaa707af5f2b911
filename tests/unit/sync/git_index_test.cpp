#include "client/sync/git_files.hpp"
#include "client/sync/git_index.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace git_index_test {

using namespace dockdist;
using Names = std::vector<std::string>;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A repository that git itself makes, without what the user of this machine has set.
struct Repository {
    Scratch scratch{};

    explicit Repository(const std::string& options = "") { git("init -q " + options + " ."); }
    void run(const std::string& line) const {
        const auto command = "cd " + scratch.path + " && { " + line + "; } >/dev/null 2>&1";
        REQUIRE_MESSAGE(std::system(command.c_str()) == 0, line);
    }
    void git(const std::string& words) const { run(program + words); }
    void put(const std::string& path, const std::string& text = "x") const {
        std::filesystem::create_directories(std::filesystem::path(scratch.path + "/" + path).parent_path());
        std::ofstream(scratch.path + "/" + path) << text;
    }
    std::string index() const { return content(scratch / ".git/index"); }
    // What git says that it tracks.
    Names listed() const {
        run("test -n \"$(" + program + "ls-files)\" && " + program + "ls-files -z >.git/listed");
        auto text = content(scratch / ".git/listed");
        Names names;
        for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
            names.emplace_back(text.c_str() + at);
        }
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }

    const std::string program =
        "env -u XDG_CONFIG_HOME HOME=/nonexistent git -c user.name=a -c user.email=a@example.org "
        "-c protocol.file.allow=always ";
};

bool has_git() {
    return std::system("git --version >/dev/null 2>&1") == 0;
}

} // namespace

TEST_CASE("what git tracks is read from its index, of each version and either hash") {
    if (!has_git()) {
        MESSAGE("no git here");
        return;
    }
    for (const auto* options : {"", "--object-format=sha256"}) {
        const Repository repository(options);
        for (const auto* path : {"a", "dir/b", "dir/deep/er/c", "dir-x", "grün", "two words"}) {
            repository.put(path);
        }
        repository.put("long/" + std::string(200, 'l') + "/" + std::string(200, 'n'));
        repository.git("add .");
        for (const auto* version : {"2", "4", "2"}) {
            repository.git(std::string("update-index --force-write-index --index-version ") + version);
            CHECK(tracked_names(repository.index()) == repository.listed());
        }
        repository.put("later");
        repository.git("add -N later"); // the flag makes it version 3
        CHECK(repository.index()[7] == 3);
        CHECK(tracked_names(repository.index()) == repository.listed());
        repository.git("commit -qm 1"); // with the extension TREE
        CHECK(tracked_names(repository.index()) == repository.listed());
        repository.git("update-index --split-index"); // the names are elsewhere
        CHECK_FALSE(tracked_names(repository.index()).has_value());
    }
}

TEST_CASE("a damaged index is none, and costs no more than it is large") {
    CHECK_FALSE(tracked_names("").has_value());
    CHECK_FALSE(tracked_names("DIRC").has_value());
    const std::string empty("DIRC\0\0\0\2\0\0\0\0", 12);
    CHECK(tracked_names(empty + std::string(20, 'h')) == Names{});
    CHECK_FALSE(tracked_names(empty + std::string(21, 'h')).has_value());
    // An entry of version 4 each: a name that only grows.
    std::string growing("DIRC\0\0\0\4\0\0\x40\0", 12);
    for (int i = 0; i < 0x4000; ++i) {
        growing += std::string(62, '\0') + '\0' + 'x' + '\0';
    }
    CHECK_FALSE(tracked_names(growing + std::string(20, 'h')).has_value());
    if (!has_git()) {
        return;
    }
    const Repository repository;
    for (const auto* path : {"a", "b/c"}) {
        repository.put(path);
    }
    repository.git("add .");
    const auto whole = repository.index();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CHECK_FALSE(tracked_names(whole.substr(0, size)).has_value());
    }
}

TEST_CASE("further work trees and submodules are found by their .git files") {
    if (!has_git()) {
        MESSAGE("no git here");
        return;
    }
    const Repository repository;
    CHECK_FALSE(git_files_of(repository.scratch / ".git/refs").has_value());
    repository.put("a");
    repository.put(".git/info/exclude", "*.swp\n");
    repository.git("add .");
    repository.git("commit -qm 1");
    repository.git("worktree add -q tree");
    repository.git("submodule add -q ./ sub");
    CHECK(git_files_of(repository.scratch.path)->tracked == Names{".gitmodules", "a", "sub"});
    for (const auto* folder : {"tree", "sub"}) {
        const auto files = git_files_of(repository.scratch / folder);
        REQUIRE(files.has_value());
        CHECK(files->tracked == Names{"a"});
    }
    CHECK(git_files_of(repository.scratch / "tree")->exclude == "*.swp\n"); // all work trees share it
    CHECK(git_files_of(repository.scratch / "sub")->exclude != "*.swp\n");
}

TEST_CASE("core.excludesFile is read as git reads it") {
    const auto file = [](const std::string& config) {
        return excludes_file_of(config, "/home/ada").value_or("-");
    };
    CHECK(file("") == "-");
    CHECK(file("[core]\n\texcludesFile = ~/.gitignore_global\n") == "/home/ada/.gitignore_global");
    CHECK(file("[Core]\nEXCLUDESFILE=/etc/ignore # ours\n") == "/etc/ignore");
    CHECK(file("[core]\nexcludesfile = \"/a b;c\" ; comment\n") == "/a b;c");
    CHECK(file("[core]\nexcludesfile = /a\n[core]\nexcludesfile = /b\n") == "/b");
    CHECK(file("[core \"x\"]\nexcludesfile = /a\n[diff]\nexcludesfile = /b\n#[core]\n") == "-");
    CHECK(file("[core]\n; excludesfile = /a\nexcludesfiles = /b\n") == "-");
}

} // namespace git_index_test

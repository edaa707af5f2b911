#include "client/sync/local_tree.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <tuple>

namespace local_tree_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

void put(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << content;
}

std::string names(const LocalTree& tree) {
    std::string text;
    for (const auto& entry : tree.entries) {
        text += (text.empty() ? "" : " ") + entry.name;
    }
    return text;
}

} // namespace

TEST_CASE("a scan leaves out what the files say, nested ones and those above in the repository too") {
    const Scratch scratch;
    put(scratch / "repo/.git/info/exclude", "*.swp\n");
    put(scratch / "repo/.gitignore", "*.log\n");
    put(scratch / "repo/src/.gitignore", "/out\n");
    put(scratch / "repo/src/a.py");
    put(scratch / "repo/src/a.log");
    put(scratch / "repo/src/a.swp");
    put(scratch / "repo/src/out/x");
    put(scratch / "repo/src/sub/out");
    put(scratch / "repo/src/sub/.dockdistignore", "*.md\n");
    put(scratch / "repo/src/sub/b.md");
    put(scratch / "repo/src/.git", "gitdir: elsewhere\n");
    fs::remove(scratch / "repo/src/.git");
    const auto tree = scan(scratch / "repo/src", {.exclude = {"*.tmp"}});
    REQUIRE(tree.has_value());
    CHECK(names(*tree) == ".gitignore a.py sub sub/.dockdistignore sub/out");
    const auto all = scan(scratch / "repo", {.ignore_files = false});
    CHECK(names(*all).find(".git/info/exclude") != std::string::npos);
}

TEST_CASE(
    "what git tracks is sent whatever its rules say, and from a folder that they leave out nothing else") {
    const Scratch scratch;
    const auto run = [&](const std::string& line) {
        const auto command = "cd " + scratch.path + " && " + line + " >/dev/null 2>&1";
        REQUIRE_MESSAGE(std::system(command.c_str()) == 0, line);
    };
    const std::string git =
        "env -u XDG_CONFIG_HOME HOME=/nonexistent git -c user.name=a -c user.email=a@example.org "
        "-c protocol.file.allow=always ";
    run(git + "init -q repo && " + git + "init -q lib");
    put(scratch / "lib/.gitignore", "*.own\n");
    put(scratch / "lib/f.log");
    run("cd lib && " + git + "add -f . && " + git + "commit -qm 1");
    put(scratch / "repo/.gitignore", "*.log\ndata/\n*.bin\nlib/new\n");
    for (const auto* path :
         {"kept.log", "other.log", "data/train.bin", "data/in/val.bin", "data/in/other", "src/m.bin"}) {
        put(scratch.path + "/repo/" + path);
    }
    run("cd repo && " + git + "add -f .gitignore kept.log data/in/val.bin src/m.bin && " + git +
        "submodule add -q ../lib lib && " + git + "commit -qm 1");
    for (const auto* path : {"lib/a.log", "lib/a.own", "lib/new", "src/a.log"}) {
        put(scratch.path + "/repo/" + path);
    }
    const auto tree = scan(scratch / "repo", {});
    REQUIRE(tree.has_value());
    CHECK(
        names(*tree) ==
        ".gitignore .gitmodules data data/in data/in/val.bin kept.log lib lib/.gitignore lib/a.log lib/f.log "
        "lib/new src src/m.bin");
    CHECK(why_left_out(scratch / "repo", {}, "data/in/other")->rule == "data/");
    CHECK_FALSE(why_left_out(scratch / "repo", {}, "data/in/val.bin").has_value());
    CHECK_FALSE(why_left_out(scratch / "repo", {}, "lib/new")
                    .has_value()); // git's rules end where another repository begins
    CHECK(why_left_out(scratch / "repo", {}, "lib/a.own")->from == "lib/.gitignore");
    // Folders of it, one with rules of its own, which have the last word.
    put(scratch / "repo/data/.dockdistignore", "/in/val.bin\n");
    CHECK(names(scan(scratch / "repo/data", {}).value()) == ".dockdistignore in in/other");
    CHECK(names(scan(scratch / "repo/src", {}).value()) == "m.bin");
    // Above the tree an index that others write to lets nothing in.
    fs::permissions(scratch / "repo/.git/index", fs::perms::others_write, fs::perm_options::add);
    CHECK(names(scan(scratch / "repo/src", {}).value()).empty());
}

TEST_CASE("the user's own rules for all repositories count last") {
    const Scratch scratch;
    put(scratch / "home/.config/git/ignore", "*.orig\n*.swp\n");
    put(scratch / "repo/.git/HEAD", "ref: refs/heads/main\n");
    put(scratch / "repo/.gitignore", "!keep.swp\n");
    put(scratch / "plain/a.orig");
    for (const auto* path : {"a.orig", "b.swp", "keep.swp"}) {
        put(scratch.path + "/repo/" + path);
    }
    const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", (scratch / "home").c_str(), 1);
    ::unsetenv("XDG_CONFIG_HOME");
    const auto in_repository = scan(scratch / "repo", {});
    const auto elsewhere = scan(scratch / "plain", {});
    ::setenv("HOME", before.c_str(), 1);
    CHECK(names(in_repository.value()) == ".gitignore keep.swp");
    CHECK(in_repository->left_out_by_rules.at(0).reason.from == scratch / "home/.config/git/ignore");
    CHECK(names(elsewhere.value()) == "a.orig"); // no repository
}

TEST_CASE("no rule is waited for") {
    const Scratch scratch;
    put(scratch / "repo/src/a.py");
    fs::create_directories(scratch / "repo/.git/info");
    for (const auto* name : {"repo/.git/info/exclude", "repo/.gitignore"}) {
        REQUIRE(::mkfifo((scratch / name).c_str(), 0600) == 0);
    }
    CHECK(names(*scan(scratch / "repo/src", {})) == "a.py");
}

TEST_CASE("a scan counts what each rule leaves out, and of one name it is told without a scan") {
    const Scratch scratch;
    put(scratch / "t/.gitignore", "__pycache__/\n*.bin\n");
    put(scratch / "t/data/.gitignore", "!kept.bin\n");
    put(scratch / "t/data/train.bin");
    put(scratch / "t/data/val.bin");
    put(scratch / "t/data/kept.bin");
    put(scratch / "t/__pycache__/a.pyc");
    put(scratch / "t/data/__pycache__/train.bin");
    put(scratch / "t/collected/x");
    put(scratch / "t/.git/HEAD");
    const ScanOptions options{.exclude = {"*.tmp"}, .always = {"/collected/"}};
    const auto tree = scan(scratch / "t", options);
    REQUIRE(tree.has_value());
    REQUIRE(tree->left_out_by_rules.size() == 2); // what dockdist leaves out of itself is not told
    const auto& folders = tree->left_out_by_rules[0];
    const auto& files = tree->left_out_by_rules[1];
    CHECK(std::tuple(folders.reason.rule, folders.files, folders.folders) ==
          std::tuple("__pycache__/", 0, 2));
    CHECK(std::tuple(files.reason.rule, files.files, files.folders, files.reason.name) ==
          std::tuple("*.bin", 2, 0, "data/train.bin"));

    const auto why = [&](const std::string& name) { return why_left_out(scratch / "t", options, name); };
    REQUIRE(why("data/train.bin").has_value());
    CHECK(std::tuple(why("data/train.bin")->from, why("data/train.bin")->line) ==
          std::tuple(".gitignore", 2));
    CHECK(why("data/__pycache__/train.bin")->name == "data/__pycache__");
    CHECK_FALSE(why("data/kept.bin").has_value());
    CHECK_FALSE(why("data/test.bin").has_value()); // there is none
    CHECK_FALSE(why_left_out(scratch / "t", {.ignore_files = false}, "data/train.bin").has_value());
    CHECK_FALSE(why_left_out(scratch / "t/data/train.bin", {}, "train.bin").has_value());
    CHECK_FALSE(why_left_out(scratch / "no-such", {}, "train.bin").has_value());
}

TEST_CASE("links that lead out, and what is no file, are left out by name") {
    const Scratch scratch;
    put(scratch / "t/a");
    fs::create_symlink("a", scratch / "t/good");
    fs::create_symlink("/etc/passwd", scratch / "t/out");
    fs::create_symlink("../x", scratch / "t/up");
    REQUIRE(::mkfifo((scratch / "t/pipe").c_str(), 0600) == 0);
    const auto tree = scan(scratch / "t", {});
    REQUIRE(tree.has_value());
    CHECK(names(*tree) == "a good");
    CHECK(tree->left_out ==
          std::vector<std::string>{"out is a link to /etc/passwd, which leads out of the folder",
                                   "pipe is not a file, folder or link",
                                   "up is a link to ../x, which leads out of the folder"});
}

TEST_CASE("one file is a tree that has the nodes' name") {
    const Scratch scratch;
    put(scratch / "train.py", "abc");
    const auto tree = scan(scratch / "train.py", {.file_name = "main.py"});
    REQUIRE(tree.has_value());
    CHECK(names(*tree) == "main.py");
    CHECK(tree->local_name(tree->entries[0]) == "train.py");
    CHECK(tree->entries[0].size == 3);
}

TEST_CASE("a source that is missing is told") {
    const auto tree = scan("/nowhere/at/all", {});
    REQUIRE(tree.has_error());
    CHECK(tree.error().kind == ErrorKind::usage);
    CHECK(tree.error().message == "/nowhere/at/all: No such file or directory");
}

} // namespace local_tree_test

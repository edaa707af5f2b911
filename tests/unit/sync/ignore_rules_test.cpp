#include "client/sync/ignore_rules.hpp"
#include "client/sync/wildmatch.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <tuple>

namespace ignore_rules_test {

using namespace dockdist;
using Group = IgnoreRules::Group;

TEST_CASE("patterns match as git's wildmatch does") {
    CHECK(wildmatch("*.py", "a.py"));
    CHECK(!wildmatch("*.py", "d/a.py"));
    CHECK(wildmatch("**/a", "a"));
    CHECK(wildmatch("**/a", "x/y/a"));
    CHECK(wildmatch("a/**", "a/x/y"));
    CHECK(!wildmatch("a/**", "a"));
    CHECK(wildmatch("a/**/b", "a/b"));
    CHECK(wildmatch("a/**/b", "a/x/y/b"));
    CHECK(!wildmatch("a**b", "a/b"));
    CHECK(wildmatch("[a-c]?", "bz"));
    CHECK(!wildmatch("[!a-c]?", "bz"));
    CHECK(wildmatch("[[:digit:]]x", "5x"));
    CHECK(wildmatch("[]-]", "]"));
    CHECK(!wildmatch("[a", "a"));
    CHECK(wildmatch("\\*", "*"));
    CHECK(!wildmatch("\\*", "a"));
    CHECK(!wildmatch("?", "/"));
    CHECK(!wildmatch("[^a]", "/"));
    CHECK(wildmatch("*a*b", "xaxaxb"));
    CHECK(wildmatch("**/a*/c", "b/ab/a/c"));
    CHECK(!wildmatch("a/**/b", "a/x/yb"));
}

TEST_CASE("no pattern takes long, and none runs out of stack") {
    const auto repeated = [](std::string_view text, int times) {
        std::string all;
        for (int i = 0; i < times; ++i) {
            all += text;
        }
        return all;
    };
    CHECK(!wildmatch("*a*a*a*a*a*a*a*b", std::string(200, 'a')));
    CHECK(!wildmatch(repeated("**/", 60) + "b", repeated("a/", 2000) + "a"));
    CHECK(wildmatch(repeated("**/", 60) + "a", repeated("a/", 2000) + "a"));
    CHECK(!wildmatch(repeated("**/a*a/", 60) + "b", repeated("aaa/", 1000) + "a"));
    CHECK(wildmatch(repeated("**/", 100'000) + "b", "b"));
}

TEST_CASE("a .dockdistignore has the last word, over every .gitignore") {
    IgnoreRules rules;
    rules.add(Group::git, "", "*.bin\nbuild/\n");
    rules.add(Group::git, "sub", "!x.bin\n");
    rules.add(Group::dockdist, "", "!model.bin\nsecret\n");
    rules.add(Group::always, "", ".git");
    rules.add(Group::exclude, "", "*.tmp\n");
    rules.add(Group::dockdist, "sub", "!*.tmp\n");
    CHECK(rules.ignored("a.bin", false));
    CHECK(!rules.ignored("model.bin", false));
    CHECK(!rules.ignored("sub/x.bin", false));
    CHECK(rules.ignored("sub/y.bin", false));
    CHECK(rules.ignored("secret", false));
    CHECK(rules.ignored("build", true));
    CHECK(rules.ignored("build/x", false));
    CHECK(!rules.ignored("build", false));
    CHECK(rules.ignored(".git", true));
    CHECK(rules.ignored("sub/.git/config", false));
    CHECK(rules.ignored("sub/a.tmp", false)); // `exclude` of cluster.yaml is what was asked for last
}

TEST_CASE("what leaves a file out is told with its place") {
    IgnoreRules rules;
    rules.add(Group::git, "", "# weights\n\n*.bin\n/data/\n", ".gitignore");
    rules.add(Group::git, "sub", "!x.bin\n", "sub/.gitignore");
    rules.add(Group::exclude, "", "*.tmp", "`exclude`");
    rules.add_above("project", "*.log\n", "/repo/.gitignore");
    const auto reason = rules.why_below("deep/train.bin", false);
    REQUIRE(reason.has_value());
    CHECK(
        *reason ==
        IgnoreRules::Reason{
            .rule = "*.bin", .from = ".gitignore", .line = 3, .group = Group::git, .name = "deep/train.bin"});
    const auto folder = rules.why_below("data/shakespeare/prepare.py", false);
    REQUIRE(folder.has_value());
    CHECK(std::tuple(folder->rule, folder->line, folder->name, folder->folder) ==
          std::tuple("/data/", 4, "data", true));
    CHECK(rules.why_below("a.tmp", false)->group == Group::exclude);
    CHECK(rules.why_below("a.log", false)->from == "/repo/.gitignore");
    CHECK_FALSE(rules.why_below("sub/x.bin", false).has_value());
    CHECK_FALSE(rules.why_below("train.py", false).has_value());
}

TEST_CASE("rules above the tree count, the nearer ones first") {
    IgnoreRules rules;
    rules.add_above("project", "!b.log\n/a\n");
    rules.add_above("repo/project", "*.log\nproject/c\n/repo/project/d\n");
    CHECK(!rules.ignored("b.log", false));
    CHECK(rules.ignored("c.log", false));
    CHECK(!rules.ignored("a", false));
    CHECK(!rules.ignored("c", false)); // that pattern has a slash: it stands for repo/../project/c
    CHECK(rules.ignored("d", false));
}

TEST_CASE("the rules say what git check-ignore says") {
    if (std::system("git --version >/dev/null 2>&1") != 0) {
        MESSAGE("no git here");
        return;
    }
    const Scratch scratch;
    const std::string git = "cd " + scratch.path + " && git -c core.excludesFile=/dev/null ";
    REQUIRE(std::system((git + "init -q . 2>/dev/null").c_str()) == 0);
    const std::map<std::string, std::string> files{
        {"", "*.log\n!keep.log\n/top\nbuild/\ndoc/**/tmp\n**/cache\ndata/**\n!data/in\nfoo/*\n!foo/bar/"
             "\n\\#x\n\\!y\n"
             "trail   \nesc\\ \n[ab]c\n*~\r\nx/y\n/z*/w\nq?\n# comment\n\n"},
        {"sub", "!a.log\n/only\n*.pyc\n"},
        {"sub/deep", "*.log\n"},
        {"data/in", "!*\n"},
    };
    IgnoreRules rules;
    for (const auto& [base, lines] : files) {
        std::filesystem::create_directories(scratch.path + "/" + base);
        std::ofstream(scratch.path + "/" + base + "/.gitignore", std::ios::binary) << lines;
        rules.add(Group::git, base, lines);
    }
    const std::vector<std::string> names{"a.log",     "keep.log",
                                         "top",       "sub/top",
                                         "build",     "sub/build",
                                         "doc/tmp",   "doc/a/b/tmp",
                                         "cache",     "x1/y1/cache",
                                         "data/x",    "data/in",
                                         "foo/a",     "foo/bar",
                                         "foo/bar/b", "#x",
                                         "!y",        "trail",
                                         "esc ",      "ac",
                                         "bc",        "cc",
                                         "file~",     "x/y",
                                         "k/x/y",     "zz/w",
                                         "sub/a.log", "sub/b.log",
                                         "sub/only",  "sub/k/only",
                                         "only",      "sub/m.pyc",
                                         "m.pyc",     "sub/deep/a.log",
                                         "qq",        "q",
                                         "qqq",       "sub/keep.log",
                                         "build/x",   "data/in/x",
                                         "trail   "};
    for (const auto& name : names) {
        for (const bool folder : {false, true}) {
            // A name with a slash at its end is a folder to git, whether it is there or not.
            const auto command =
                git + "check-ignore --no-index -q -- '" + name + (folder ? "/'" : "'") + " 2>/dev/null";
            const bool git_says = std::system(command.c_str()) == 0;
            CHECK_MESSAGE(rules.ignored(name, folder) == git_says,
                          name << (folder ? "/" : "") << ": git says " << git_says);
        }
    }
}

} // namespace ignore_rules_test

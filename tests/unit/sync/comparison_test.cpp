#include "client/sync/comparison.hpp"

#include <doctest/doctest.h>

namespace comparison_test {

using namespace dockdist;
using wire::TreeEntry;
using Type = TreeEntry::Type;
using Kind = SyncAction::Kind;

namespace {

TreeEntry file(std::string name, std::uint64_t size = 3, std::int64_t time = 7, std::uint32_t mode = 0644) {
    return {.name = std::move(name), .type = Type::file, .mode = mode, .size = size, .time_ns = time};
}
TreeEntry folder(std::string name, std::uint32_t mode = 0755) {
    return {.name = std::move(name), .type = Type::folder, .mode = mode};
}
TreeEntry a_link(std::string name, std::string target) {
    return {.name = std::move(name), .type = Type::link, .mode = 0777, .target = std::move(target)};
}

LocalTree tree_of(std::vector<TreeEntry> entries, const std::string& ignored = "") {
    LocalTree tree;
    tree.entries = std::move(entries);
    tree.rules.add(IgnoreRules::Group::git, "", ignored);
    tree.make_index();
    return tree;
}

// The plan as lines: "send a", "remove b".
std::string plan_text(const LocalTree& tree, const std::vector<TreeEntry>& node, CompareOptions options = {},
                      const std::vector<std::string>& same = {}) {
    Comparison comparison(tree, options);
    (void)comparison.folders_to_list();
    for (const auto& entry : node) {
        comparison.node_has(entry);
    }
    for (const auto& name : same) {
        comparison.same_content(tree.index.at(name));
    }
    std::string text;
    for (const auto& action : comparison.plan().actions) {
        constexpr const char* words[] = {"remove", "make", "link", "send", "mode", "time"};
        text += std::string(text.empty() ? "" : ", ") + words[static_cast<int>(action.kind)] + " " +
                (action.kind == Kind::remove ? action.name : tree.entries[action.entry].name);
    }
    return text;
}

} // namespace

TEST_CASE("an empty node gets everything, folders first") {
    const auto tree = tree_of({folder("d"), file("d/f"), a_link("l", "d/f")});
    CHECK(plan_text(tree, {}) == "make d, send d/f, link l");
}

TEST_CASE("what is the same is not sent") {
    const auto tree = tree_of({folder("d"), file("d/f"), a_link("l", "d/f")});
    CHECK(plan_text(tree, {folder("d"), file("d/f"), a_link("l", "d/f")}) == "");
}

TEST_CASE("size, time, mode and target are looked at") {
    const auto tree = tree_of({file("f")});
    CHECK(plan_text(tree, {file("f", 4)}) == "send f");
    CHECK(plan_text(tree, {file("f", 3, 8)}) == "send f");
    CHECK(plan_text(tree, {file("f", 3, 8)}, {}, {"f"}) == "time f");
    CHECK(plan_text(tree, {file("f", 3, 7, 0755)}) == "mode f");
    CHECK(plan_text(tree, {file("f", 3, 8, 0755)}, {}, {"f"}) == "mode f, time f");
    CHECK(plan_text(tree, {file("f")}, {.everything = true}) == "send f");
    const auto other = tree_of({folder("d", 0700), a_link("l", "a")});
    CHECK(plan_text(other, {folder("d"), a_link("l", "b")}) == "link l, mode d");
}

TEST_CASE("doubts are files of one size and two times") {
    const auto tree = tree_of({file("a"), file("b"), file("c")});
    Comparison comparison(tree, {});
    comparison.node_has(file("a"));
    comparison.node_has(file("b", 3, 9));
    comparison.node_has(file("c", 5, 9));
    CHECK(comparison.doubts() == std::vector<std::uint32_t>{1});
}

TEST_CASE("nothing is removed unless asked, and never what is ignored") {
    const auto tree = tree_of({folder("d"), file("d/f")}, "*.log\n/out/\n");
    const std::vector<TreeEntry> node{folder("d"),        file("d/f"),   file("d/x"),   file("x.log"),
                                      folder("out"),      folder("old"), file("old/a"), folder("logs"),
                                      file("logs/a.log"), file("logs/b")};
    CHECK(plan_text(tree, node) == "");
    CHECK(plan_text(tree, node, {.remove = true}) == "remove old/a, remove old, remove logs/b, remove d/x");
}

TEST_CASE("folders of the node alone are listed only where they may go") {
    const auto tree = tree_of({folder("d")}, "/out/\n");
    for (const bool remove : {false, true}) {
        Comparison comparison(tree, {.remove = remove});
        CHECK(comparison.folders_to_list() == std::vector<std::string>{"", "d"});
        comparison.node_has(folder("out"));
        comparison.node_has(folder("old"));
        CHECK(comparison.folders_to_list() ==
              (remove ? std::vector<std::string>{"old"} : std::vector<std::string>{}));
    }
}

TEST_CASE("a folder in a file's way, and the other way round") {
    CHECK(plan_text(tree_of({file("a")}), {folder("a")}) == "remove a, send a");
    CHECK(plan_text(tree_of({file("a")}), {folder("a"), file("a/b")}, {.remove = true}) ==
          "remove a/b, remove a, send a");
    CHECK(plan_text(tree_of({folder("a"), file("a/b")}), {file("a")}) == "remove a, make a, send a/b");
    CHECK(plan_text(tree_of({folder("a"), file("a/b")}), {a_link("a", "/elsewhere")}) ==
          "remove a, make a, send a/b");
    CHECK(plan_text(tree_of({file("a")}), {a_link("a", "b")}) == "send a");
}

TEST_CASE("a folder that its owner may not write in gets its mode last") {
    const auto tree = tree_of({folder("d", 0555), file("d/f")});
    CHECK(plan_text(tree, {}) == "make d, send d/f, mode d");
}

TEST_CASE("a hostile node's names are removed only below the tree, and its own ignored ones never") {
    const auto tree = tree_of({file("a")}, "keep/\n");
    CHECK(plan_text(tree, {file("keep/a/b"), file("a/b")}, {.remove = true}) == "remove a/b, send a");
}

} // namespace comparison_test

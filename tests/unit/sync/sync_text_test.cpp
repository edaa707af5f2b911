#include "client/sync/sync_text.hpp"

#include <doctest/doctest.h>

namespace sync_text_test {

using namespace dockdist;

namespace {

SyncedNode node(const std::string& name, std::uint64_t files, std::uint64_t bytes) {
    SyncedNode made{.node = NodeName(name)};
    made.plan.files = files;
    made.plan.bytes = bytes;
    return made;
}

} // namespace

TEST_CASE("a plan in words") {
    CHECK(plan_summary({}) == "nothing to do");
    CHECK(plan_summary({.files = 1, .bytes = 10}) == "1 file (10 B) sent");
    CHECK(plan_summary({.files = 3, .bytes = 2048, .removed = 2, .others = 1}) ==
          "3 files (2.0 KiB) sent, 2 removed, 1 folder, link or mode made or changed");
}

TEST_CASE("nodes that got the same are told together") {
    SyncedTree synced;
    synced.nodes = {node("node-0", 1, 10), node("node-1", 1, 10)};
    CHECK(summary(".", "/workspace", synced) == ". → /workspace: 1 file (10 B) sent on 2 nodes");
    synced.nodes.push_back(node("node-2", 2, 10));
    CHECK(summary(".", "/w", synced) ==
          ". → /w: 1 file (10 B) sent on node-0, node-1; 2 files (10 B) sent on node-2");
    synced.nodes[1].shared_with = "node-0";
    CHECK(summary("a\nb", "/w", synced) == "a\\x0ab → /w: 1 file (10 B) sent on node-0; 2 files (10 B) sent "
                                           "on node-2; node-1 shared with node-0");
}

TEST_CASE("what rules leave out is told in one line, files first") {
    using Group = IgnoreRules::Group;
    LocalTree tree;
    CHECK(left_out_text(tree).empty());
    tree.left_out_by_rules = {
        {{.rule = "__pycache__/",
          .from = ".gitignore",
          .line = 1,
          .group = Group::git,
          .name = "a/__pycache__",
          .folder = true},
         0,
         7},
        {{.rule = "*.bin", .from = ".gitignore", .line = 3, .group = Group::git, .name = "data/train.bin"},
         2,
         0}};
    CHECK(left_out_text(tree) ==
          "2 files and 7 folders left out by ignore rules: data/train.bin and 1 more (`*.bin` in "
          ".gitignore:3), a/__pycache__/ and 6 more (`__pycache__/` in .gitignore:1)");
    for (int i = 1; i < 10; ++i) {
        tree.left_out_by_rules.push_back(
            {{.rule = "x", .from = ".dockdistignore", .line = i, .group = Group::dockdist, .name = "x\n"},
             1,
             0});
    }
    const auto text = left_out_text(tree);
    CHECK(text.starts_with("11 files and 7 folders left out by ignore rules: data/train.bin and 1 more ("));
    CHECK(text.ends_with("x\\x0a (`x` in .dockdistignore:2), and by 8 more rules"));
}

TEST_CASE("a dry run tells each action, and the nodes whose plan it is") {
    LocalTree tree;
    tree.entries = {{.name = "d", .type = wire::TreeEntry::Type::folder, .mode = 0755},
                    {.name = "d/f", .type = wire::TreeEntry::Type::file, .mode = 0644, .size = 1536},
                    {.name = "l", .type = wire::TreeEntry::Type::link, .target = "d/f"}};
    using Kind = SyncAction::Kind;
    SyncedTree synced;
    synced.nodes = {node("node-0", 1, 1536), node("node-1", 0, 0), node("node-2", 1, 1536)};
    synced.nodes[0].plan.actions = {{.kind = Kind::remove, .name = "old"},
                                    {.kind = Kind::make_folder, .entry = 0},
                                    {.kind = Kind::send, .entry = 1},
                                    {.kind = Kind::link, .entry = 2},
                                    {.kind = Kind::set_mode, .entry = 0}};
    synced.nodes[2].plan = synced.nodes[0].plan;
    CHECK(dry_run_text(tree, synced) ==
          "node-0, node-2:\n  remove old\n  make d/\n  send d/f (1.5 KiB)\n  link l → d/f\n"
          "  mode d 755\nnode-1:\n  nothing to do\n");
}

} // namespace sync_text_test

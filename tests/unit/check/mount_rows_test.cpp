#include "client/check/mount_rows.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace mount_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

const std::vector<std::string> data{"/data"};

// Each wrote its token; `seen` says whose tokens each found.
std::vector<CheckedNode> after_writing(const std::vector<std::vector<std::string>>& seen,
                                       const std::string& folder = "/data") {
    auto nodes = cluster_facts(static_cast<int>(seen.size()));
    for (std::size_t i = 0; i < seen.size(); ++i) {
        nodes[i].facts.mounts.insert_or_assign(folder, wire::MountFacts{.folder = true, .written = true});
        nodes[i].seen_tokens[folder] = seen[i];
    }
    return nodes;
}

} // namespace

TEST_CASE("one storage on all nodes is one row for all folders") {
    auto nodes = after_writing({{"node-0", "node-1"}, {"node-0", "node-1"}});
    for (auto& node : nodes) {
        node.facts.mounts.insert_or_assign("/home", wire::MountFacts{.folder = true, .written = true});
        node.seen_tokens["/home"] = {"node-0", "node-1"};
    }
    const auto rows = judge_mounts(nodes, {"/data", "/home"});
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].subject == "all nodes");
    CHECK(rows[0].text == "/data, /home: the same storage");
}

TEST_CASE("storage that is not shared says which nodes see which") {
    auto rows = judge_mounts(after_writing({{"node-0"}, {"node-1"}}), data);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].text == "/data is not the same storage: node-0, node-1 have one each");
    rows = judge_mounts(after_writing({{"node-0", "node-2"}, {"node-1"}, {"node-2"}}), data);
    CHECK(rows.at(0).text == "/data is not the same storage: node-0, node-2 share one; node-1 has its own");
    rows = judge_mounts(after_writing({{"node-0", "node-1"}, {}, {"node-2", "node-3"}, {}}), data);
    CHECK(rows.at(0).text ==
          "/data is not the same storage: node-0, node-1 share one; node-2, node-3 share one");
}

TEST_CASE("a folder that is local by its name is none to warn of") {
    const auto rows = judge_mounts(after_writing({{"node-0"}, {"node-1"}}, "/mnt/scratch"), {"/mnt/scratch"});
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].text == "/mnt/scratch: each host has its own, as the name says");
}

TEST_CASE("a node that cannot write reads, and is told of") {
    auto nodes = after_writing({{"node-0", "node-1"}, {"node-0", "node-1"}, {"node-0"}});
    nodes[2].facts.mounts.insert_or_assign("/data",
                                           wire::MountFacts{.folder = true, .why = "Permission denied"});
    const auto rows = judge_mounts(nodes, data);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text == "/data: the same storage");
    CHECK(rows[1].state == State::warn);
    CHECK(rows[1].subject == "node-2");
    CHECK(rows[1].text == "/data cannot be written: Permission denied");
}

TEST_CASE("where nobody can write, the names are compared") {
    auto nodes = cluster_facts(3);
    for (auto& node : nodes) {
        node.facts.mounts.insert_or_assign(
            "/data", wire::MountFacts{.folder = true, .why = "Read-only file system", .listing = "3 9"});
    }
    CHECK(judge_mounts(nodes, data).at(0).text ==
          "/data: the same names on each host; whether it is one storage is not known, as no node can write "
          "there");
    const auto from = [&](std::size_t node, const char* source) {
        nodes[node].facts.mounts.at("/data")->source = source;
    };
    for (const auto* source : {"server:/export /data", "//server/share /"}) {
        from(0, source);
        from(1, source);
        from(2, source);
        CHECK(judge_mounts(nodes, data).at(0).text == "/data: the same storage");
    }
    from(2, "server:/export /other");
    CHECK(judge_mounts(nodes, data).at(0).text.find("not known") != std::string::npos);
    for (const auto* source : {"/dev/sda1 /srv/data", "localhost:/export /", "//127.0.0.1/share /", ""}) {
        from(0, source); // each host's own, whatever the words are
        from(1, source);
        from(2, source);
        CHECK(judge_mounts(nodes, data).at(0).text.find("not known") != std::string::npos);
    }
    nodes[1].facts.mounts.at("/data")->listing = "2 7";
    const auto rows = judge_mounts(nodes, data);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "/data holds other names than on node-0, node-2");
}

TEST_CASE("a folder that hangs, or is none on one node") {
    auto nodes = after_writing({{"node-0"}, {}, {}});
    nodes[1].facts.mounts.insert_or_assign("/data", Error{ErrorKind::timeout, "", "no end within 16 s", ""});
    nodes[2].facts.mounts.insert_or_assign("/data", wire::MountFacts{});
    const auto rows = judge_mounts(nodes, data);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].text == "/data does not answer: no end within 16 s");
    CHECK(rows[1].subject == "node-2");
    CHECK(rows[1].text == "/data is not a folder here");
    // A file on every node, or nothing told: nothing to compare.
    for (auto& node : nodes) {
        node.facts.mounts.insert_or_assign("/data", wire::MountFacts{});
    }
    CHECK(judge_mounts(nodes, data).empty());
    CHECK(judge_mounts(cluster_facts(2), data).empty());
}

TEST_CASE("only folders of the file that several hosts may share are compared") {
    ClusterSpec spec;
    spec.container.mounts = {{"/data", "/data"},    {"/srv/home", "/home", true},
                             {"volume", "/volume"}, {"/dev/shm", "/dev/shm"},
                             {"/tmp", "/scratch"},  {"/devices", "/devices"}};
    CHECK(mounts_to_compare(spec, {0, 1}) == std::vector<std::string>{"/data", "/home", "/devices"});
    CHECK(mounts_to_compare(spec, {0, 0}).empty());
    CHECK(mounts_to_compare(spec, {}).empty());
}

} // namespace mount_rows_test

#include "client/spec/node_words.hpp"
#include "shared/core/host_list.hpp"

#include <doctest/doctest.h>

namespace node_words_test {

using namespace dockdist;

namespace {

// node-0 … node-9 in racks of five, and two nodes of a host.
ClusterSpec farm() {
    ClusterSpec spec;
    for (int i = 0; i < 10; ++i) {
        spec.hosts.push_back(
            {.name = HostName("node-" + std::to_string(i)), .groups = {i < 5 ? "rack1" : "rack2"}});
    }
    spec.hosts.push_back({.name = HostName("big"), .nodes = 2, .groups = {"odd"}});
    return spec;
}

std::string found(const std::string& text, Ranks ranks = Ranks::taken) {
    const auto named = find_named(farm(), {.option = "--node", .text = text, .ranks = ranks});
    if (!named) {
        CHECK(named.error().kind == ErrorKind::usage);
        CHECK(named.error().where == "--node");
        return named.error().message + " | " + named.error().hint;
    }
    std::vector<std::string> names;
    for (const auto& node : *named) {
        names.push_back(node.name.str());
    }
    return host_list(names);
}

} // namespace

TEST_CASE("nodes are named one by one, by ranges, hosts, groups and ranks") {
    CHECK(found("node-3") == "node-3");
    CHECK(found("node-[7-8],node-0") == "node-[7-8,0]");
    CHECK(found("@rack2") == "node-[5-9]");
    CHECK(found("2@rack2,node-0") == "node-[5-6,0]");
    CHECK(found("@rack1,node-2,node-[4-5]") == "node-[0-5]");
    CHECK(found("big") == "big-[0-1]");
    CHECK(found("@odd") == "big-[0-1]");
    CHECK(found("3") == "node-3");
    CHECK(found("11,0") == "big-1,node-0");
}

TEST_CASE("nodes of hosts without a name in the file are also called by their places there") {
    ClusterSpec spec;
    spec.hosts = {{.name = HostName("gpu1"), .position_name = "node-0"},
                  {.name = HostName("gpu2"), .position_name = "node-1", .nodes = 2},
                  {.name = HostName("node-3")},
                  {.name = HostName("gpu4"), .position_name = "node-3"}};
    const auto found_in = [&](const std::string& text) {
        std::string names;
        for (const auto& node : *find_named(spec, {.text = text})) {
            names += (names.empty() ? "" : " ") + node.name.str();
        }
        return names;
    };
    CHECK(found_in("node-0") == "gpu1");
    CHECK(found_in("node-1") == "gpu2-0 gpu2-1");
    CHECK(found_in("node-1-1,gpu1") == "gpu2-1 gpu1");
    CHECK(found_in("node-3") == "node-3"); // who has the name himself is meant
    CHECK(found_in("node-[0-1]") == "gpu1 gpu2-0 gpu2-1");
}

TEST_CASE("what there is not is told with what there is") {
    CHECK(found("node-77") == "there is no node `node-77` | did you mean `node-7`?");
    CHECK(found("zzzzzzzz") == "there is no node `zzzzzzzz` | nodes: node-[0-9],big-[0-1]");
    CHECK(found("rack2") == "there is no node `rack2` | the group is `@rack2`");
    CHECK(found("@rakc2") == "there is no group `@rakc2` | did you mean `@rack2`?");
    CHECK(found("@zzzzzz") == "there is no group `@zzzzzz` | groups: odd,rack[1-2]");
    CHECK(found("6@rack1") == "6 nodes of @rack1 were asked for, it has 5 | ask for less");
    CHECK(found("0@rack1") ==
          "`0@rack1` does not say how many | write a number before the `@`, as in 4@rack1");
    CHECK(found("node-1,node-1") == "`node-1` is named twice | ");
    CHECK(found("node-[3-1]") ==
          "`node-[3-1]`: `3-1` counts down | write it like gpu[001-128] or 10.0.[0-3].[1-254]");
    CHECK(found("3", Ranks::refused).starts_with("there is no node `3`"));
    const auto none = find_named({}, {.text = "@a"});
    CHECK(none.error().hint == "the file has none: `groups`, or the inventory of `from`, says them");
}

TEST_CASE("a node of ten thousand is found, and a long hint stays short") {
    ClusterSpec spec;
    for (int i = 0; i < 10'000; ++i) {
        spec.hosts.push_back({.name = HostName("n" + std::to_string(i * 2))});
    }
    CHECK(find_named(spec, {.text = "n[0-19998/2]"})->size() == 10'000);
    const auto error = find_named(spec, {.text = "something-else"}).error();
    CHECK(error.hint.size() < 400);
    CHECK(error.hint.find(" more") != std::string::npos);
}

} // namespace node_words_test

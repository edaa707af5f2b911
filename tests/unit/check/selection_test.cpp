#include "client/check/selection.hpp"

#include <doctest/doctest.h>

namespace selection_test {

using namespace dockdist;

namespace {

ClusterSpec two_hosts() {
    ClusterSpec spec;
    spec.hosts.push_back({.name = HostName("a"), .nodes = 2});
    spec.hosts.push_back({.name = HostName("beta")});
    return spec;
}

std::vector<std::string> nodes_of(const std::vector<std::string>& names) {
    std::vector<std::string> nodes;
    const auto selection = select_for_check(two_hosts(), names);
    REQUIRE(selection.has_value());
    for (const auto& node : selection->nodes) {
        nodes.push_back(node.name.str());
    }
    return nodes;
}

} // namespace

TEST_CASE("a check is about everything, a host with its nodes, or one node") {
    CHECK(nodes_of({}) == std::vector<std::string>{"a-0", "a-1", "beta"});
    CHECK(nodes_of({"a"}) == std::vector<std::string>{"a-0", "a-1"});
    CHECK(nodes_of({"a-1", "beta"}) == std::vector<std::string>{"a-1", "beta"});
    CHECK(select_for_check(two_hosts(), {"a-1"})->hosts == std::vector<bool>{true, false});
    CHECK(select_for_check(two_hosts(), {})->hosts == std::vector<bool>{true, true});
}

TEST_CASE("a name that the file does not have is a usage error with what was meant") {
    const auto near = select_for_check(two_hosts(), {"a", "betta"});
    REQUIRE(near.has_error());
    CHECK(near.error().kind == ErrorKind::usage);
    CHECK(near.error().message == "there is no node `betta`");
    CHECK(near.error().hint == "did you mean `beta`?");
    CHECK(select_for_check(two_hosts(), {"zzzzzz"}).error().hint == "nodes: a-[0-1],beta");
}

} // namespace selection_test

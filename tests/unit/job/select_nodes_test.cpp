#include "client/job/select_nodes.hpp"

#include <doctest/doctest.h>

namespace select_nodes_test {

using namespace dockdist;

namespace {

// A file with nodes of these names, in one group.
ClusterSpec file_of(const std::vector<ReadyNode>& nodes) {
    ClusterSpec spec;
    for (const auto& node : nodes) {
        spec.hosts.push_back({.name = HostName(node.name.str()), .groups = {"all"}});
    }
    return spec;
}

// All of them are ready.
Result<std::vector<ReadyNode>> select_nodes(const std::vector<ReadyNode>& nodes, const std::string& selection,
                                            const std::string& excluded, std::size_t spares = 0) {
    return dockdist::select_nodes(file_of(nodes), nodes, selection, excluded, spares);
}

std::vector<ReadyNode> nodes_of(std::initializer_list<const char*> names) {
    std::vector<ReadyNode> nodes;
    for (const auto* name : names) {
        nodes.push_back({.name = NodeName(name)});
    }
    return nodes;
}

std::string names_of(const Result<std::vector<ReadyNode>>& nodes) {
    std::string text;
    for (const auto& node : *nodes) {
        text += (text.empty() ? "" : " ") + node.name.str();
    }
    return text;
}

} // namespace

TEST_CASE("select_nodes: all, the first N, or those named, in that order") {
    const auto nodes = nodes_of({"a", "b", "c"});
    CHECK(names_of(select_nodes(nodes, "", "")) == "a b c");
    CHECK(names_of(select_nodes(nodes, "2", "")) == "a b");
    CHECK(names_of(select_nodes(nodes, "c,a", "")) == "c a");
}

TEST_CASE("select_nodes: what there is not is an error that says what there is") {
    const auto nodes = nodes_of({"node-0", "node-1"});
    CHECK(select_nodes(nodes, "3", "").error().message == "3 nodes were asked for, the cluster has 2");
    CHECK(select_nodes(nodes, "0", "").has_error());
    CHECK(select_nodes(nodes, "node-2", "").error().hint == "did you mean `node-0`?");
    CHECK(select_nodes(nodes, "x", "").error().hint == "nodes: node-[0-1]");
    CHECK(select_nodes(nodes, "node-0,node-0", "").error().message == "`node-0` is named twice");
}

TEST_CASE("select_nodes: the excluded are taken out before the first N are counted") {
    const auto nodes = nodes_of({"a", "b", "c"});
    CHECK(names_of(select_nodes(nodes, "", "b")) == "a c");
    CHECK(names_of(select_nodes(nodes, "2", "a")) == "b c");
    CHECK(names_of(select_nodes(nodes, "c,a", "a")) == "c");
    CHECK(select_nodes(nodes, "3", "a").error().message ==
          "3 nodes were asked for, without --exclude's there are 2");
    CHECK(select_nodes(nodes, "", "x").error().where == "--exclude");
    CHECK(select_nodes(nodes, "a", "b").error().message == "`b` is not among the nodes of --nodes");
    CHECK(select_nodes(nodes, "", "a,b,c").error().message == "no node is left");
}

TEST_CASE("select_nodes: an excluded node need not be ready, and nobody asks its host") {
    const auto nodes = nodes_of({"a", "b", "c"});
    const auto ready = nodes_of({"a", "b"});
    const auto without_c = [&](const std::string& selection, const std::string& excluded) {
        return dockdist::select_nodes(file_of(nodes), ready, selection, excluded);
    };
    CHECK(names_of(without_c("a,c", "c")) == "a");
    CHECK(names_of(without_c("@all", "c")) == "a b");
    CHECK(names_of(without_c("a", "c")) == "a");
    CHECK(without_c("c", "c").error().message == "no node is left");
    CHECK(without_c("a,c", "a").error().message == "the node `c` is not ready");
}

TEST_CASE("select_nodes: spare nodes are the last of those chosen, and come beside a count") {
    const auto nodes = nodes_of({"a", "b", "c"});
    CHECK(names_of(select_nodes(nodes, "", "", 1)) == "a b c");
    CHECK(names_of(select_nodes(nodes, "1", "", 1)) == "a b");
    CHECK(names_of(select_nodes(nodes, "1", "b", 1)) == "a c");
    CHECK(names_of(select_nodes(nodes, "c,a", "", 1)) == "c a");
    CHECK(to_text(select_nodes(nodes, "3", "", 1).error()) ==
          "--nodes: 3 nodes and 1 spare were asked for, the cluster has 3\n"
          "  ask for less, or for fewer spare ones: --spares 0");
    CHECK(to_text(select_nodes(nodes, "b", "", 1).error()) ==
          "--spares: of 1 node 1 would be spare: none is left to run the job\n"
          "  choose more nodes, or fewer spare ones: --spares 0");
}

TEST_CASE("select_nodes: ranges and groups, of which those that are ready will do") {
    auto nodes = nodes_of({"n0", "n1", "n2", "n3"});
    const auto spec = file_of(nodes);
    CHECK(names_of(select_nodes(nodes, "n[2-3],n0", "")) == "n2 n3 n0");
    CHECK(names_of(select_nodes(nodes, "3@all", "n1")) == "n0 n2 n3");
    CHECK(select_nodes(nodes, "3@all", "n[1-2]").error().message ==
          "3 nodes of @all were asked for; 2 available");
    CHECK(names_of(select_nodes(nodes, "@all", "n[0-1]")) == "n2 n3");
    nodes.erase(nodes.begin() + 1);
    CHECK(names_of(dockdist::select_nodes(spec, nodes, "@all", "")) == "n0 n2 n3");
    CHECK(names_of(dockdist::select_nodes(spec, nodes, "@all", "n1")) == "n0 n2 n3");
    const auto named = dockdist::select_nodes(spec, nodes, "n0,n1", "");
    CHECK(named.error().message == "the node `n1` is not ready");
    CHECK(named.error().kind == ErrorKind::node);
    CHECK(dockdist::select_nodes(spec, {}, "@all", "").error().message == "no node of `@all` is ready");
}

TEST_CASE("choose_nodes: what leaves a choice, and among which nodes") {
    auto nodes = nodes_of({"a", "b", "c", "d"});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].host = i;
    }
    auto spec = file_of(nodes);
    spec.hosts[2].groups = {"all", "rack"};
    spec.hosts[3].groups = {"all", "rack"};
    const auto seats = [&](const std::string& selection, const std::string& excluded = "",
                           std::size_t spares = 0) {
        const auto choice = choose_nodes(spec, nodes, selection, excluded, spares);
        std::string text;
        for (const auto& [count, among] : choice->choice.seats) {
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " of";
            for (const auto index : among) {
                text += " " + choice->nodes[index].name.str();
            }
        }
        return text + (choice->is_free() ? "" : " (no choice)");
    };
    CHECK(seats("") == "4 of a b c d (no choice)");
    CHECK(seats("4") == "4 of a b c d (no choice)");
    CHECK(seats("2") == "2 of a b c d");
    CHECK(seats("2", "a") == "2 of b c d");
    CHECK(seats("2", "", 1) == "3 of a b c d");
    CHECK(seats("first:2") == "2 of a b (no choice)");
    CHECK(seats("first:2", "", 1) == "3 of a b c (no choice)");
    CHECK(seats("1@rack") == "1 of c d");
    CHECK(seats("1@rack,1@all") == "1 of c d, 1 of a b");
    CHECK(seats("1@all,d") == "1 of a b c, 1 of d"); // what is named is none of a choice
    CHECK(seats("b,a") == "1 of b, 1 of a (no choice)");
    const auto choice = choose_nodes(spec, nodes, "2", "b");
    CHECK(choice->choice.domains == std::vector<std::vector<std::size_t>>{{0}, {0, 1}, {0, 1}});
    CHECK(choose_nodes(spec, nodes, "first:5", "").error().message ==
          "5 nodes were asked for, the cluster has 4");
    CHECK(choose_nodes(spec, nodes, "first:", "").has_error());
    CHECK(without_counts("1@rack,a,@all") == "@rack,a,@all");
    CHECK(says_how_many("2@rack,1@all"));
    CHECK_FALSE(says_how_many("2@rack,a"));
    CHECK_FALSE(says_how_many("@rack"));
}

TEST_CASE("a node has as many ranks as GPUs are named by a variable of the user's") {
    ClusterSpec spec;
    spec.hosts = {{.name = HostName("a")}};
    ReadyNode node{.name = NodeName("a")};
    node.record.slots = node.record.gpus = 4;
    const auto slots = [&](const std::map<std::string, std::string>& own) {
        return launch_node(spec, node, own, {})->slots;
    };
    CHECK(slots({}) == 4);
    CHECK(slots({{"CUDA_VISIBLE_DEVICES", "1"}}) == 1);
    CHECK(slots({{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b,-1,0"}}) == 2);
    CHECK(slots({{"CUDA_VISIBLE_DEVICES", ""}}) == 4); // it hides them all: the ranks compute without
    CHECK(slots({{"ROCR_VISIBLE_DEVICES", "0,1,2"}, {"HIP_VISIBLE_DEVICES", "0"}}) == 1);
    spec.container.env["CUDA_VISIBLE_DEVICES"] = "0,1";
    CHECK(slots({}) == 2);
    CHECK(slots({{"CUDA_VISIBLE_DEVICES", "0,1,2"}}) == 3); // the job's own word is the last
    spec.hosts.front().env["CUDA_VISIBLE_DEVICES"] = "3";
    CHECK(slots({}) == 1);
    CHECK(to_text(launch_node(spec, node, {}, 2).error()) ==
          "--gpus: 2 GPUs of a were asked for, and CUDA_VISIBLE_DEVICES=3 names 1\n"
          "  use --gpus 1, or leave the variable out: a job's GPUs are its own, and dockdist chooses them");
    CHECK(launch_node(spec, node, {}, 1).has_value());
    node.record.gpus = 0; // no GPU, and nothing to name
    CHECK(slots({}) == 4);
}

} // namespace select_nodes_test

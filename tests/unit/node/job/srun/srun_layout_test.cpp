#include "node/job/srun/srun_layout.hpp"

#include <doctest/doctest.h>

namespace srun_layout_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

std::vector<SrunNode> nodes_of(int slots, int count = 2) {
    std::vector<SrunNode> nodes;
    for (int i = 0; i < count; ++i) {
        nodes.push_back({.name = "node-" + std::to_string(i),
                         .address = "10.0.0." + std::to_string(i + 1),
                         .slots = slots,
                         .gpus_there = slots});
    }
    return nodes;
}

// "node-0:2 node-1:1", with "(2)" where the GPUs are counted; or the error.
std::string laid_out(std::vector<std::string> arguments, int slots = 2, int count = 2) {
    arguments.emplace_back("x");
    auto options = parse_srun(arguments, {}).value();
    const auto nodes = lay_out(options, nodes_of(slots, count));
    if (!nodes) {
        return nodes.error().message;
    }
    std::string text;
    for (const auto& node : *nodes) {
        text += (text.empty() ? "" : " ") + node.name + ":" + std::to_string(node.tasks) +
                (node.gpus < 0 ? "" : "(" + std::to_string(node.gpus) + ")");
    }
    for (const auto& remark : options.remarks) {
        text += "; " + remark;
    }
    return text;
}

} // namespace

// What srun of Slurm 22.05.8 did with the same arguments on two nodes of so many CPUs:
// tests/slurm/real-slurm.
TEST_CASE("tasks go where Slurm's go") {
    for (const int slots : {2, 8}) {
        CAPTURE(slots);
        CHECK(laid_out({"-N2"}, slots) == "node-0:1 node-1:1");
        CHECK(laid_out({"-n1"}, slots) == "node-0:1");
        CHECK(laid_out({"-n2"}, slots) == "node-0:2");
        CHECK(laid_out({"-N2", "-n3"}, slots) == "node-0:2 node-1:1");
        CHECK(laid_out({"--ntasks-per-node=1", "-n2"}, slots) == "node-0:1 node-1:1");
        CHECK(laid_out({"-n2", "--ntasks-per-node=2"}, slots) == "node-0:2");
        CHECK(laid_out({"-n3", "--ntasks-per-node=2"}, slots) == "node-0:2 node-1:1");
        CHECK(laid_out({"-N2", "--ntasks-per-node=2"}, slots) == "node-0:2 node-1:2");
        CHECK(laid_out({"-n1", "-N2"}, slots) ==
              "node-0:1; Warning: can't run 1 processes on 2 nodes, setting nnodes to 1");
        CHECK(laid_out({"-N1-2", "-n2"}, slots) == "node-0:1 node-1:1");
        CHECK(laid_out({"-N1-2", "-n1"}, slots) == "node-0:1");
        CHECK(laid_out({"-w", "node-1"}, slots) == "node-1:1");
        CHECK(laid_out({"-w", "node-1", "-n1"}, slots) == "node-1:1");
        CHECK(laid_out({"-x", "node-0"}, slots) == "node-1:1");
        CHECK(laid_out({"-O", "-n6"}, slots) == "node-0:6");
        CHECK(laid_out({"-O", "-N2", "-n5"}, slots) == "node-0:3 node-1:2");
        CHECK(laid_out({"-r1", "-N1", "-n1"}, slots) == "node-1:1");
    }
    CHECK(laid_out({"-n3"}, 2) == "node-0:2 node-1:1");
    CHECK(laid_out({"-n3"}, 8) == "node-0:3");
    CHECK(laid_out({"-n4"}, 2) == "node-0:2 node-1:2");
    CHECK(laid_out({"-N2", "-n4"}, 2) == "node-0:2 node-1:2");
    CHECK(laid_out({"-N2", "-n4"}, 8) == "node-0:3 node-1:1");
    CHECK(laid_out({"-N2", "-n4", "--ntasks-per-node=1"}, 2) ==
          "node-0:2 node-1:2; Warning: can't honor --ntasks-per-node set to 1 which doesn't match the "
          "requested tasks 4 "
          "with the number of requested nodes 2. Ignoring --ntasks-per-node.");
}

TEST_CASE("where nothing is said, each node of the cluster has a task, as each of an allocation") {
    CHECK(laid_out({}, 2) == "node-0:1 node-1:1");
    CHECK(laid_out({"--ntasks-per-node=2"}, 2) == "node-0:2 node-1:2");
    CHECK(laid_out({"-w", "node-[1-2]"}, 2, 3) == "node-1:1 node-2:1");
    CHECK(laid_out({"-w", "10.0.0.3"}, 2, 3) == "node-2:1"); // by its address
    CHECK(laid_out({"-w", "node-2", "-N2"}, 2, 3) == "node-0:1 node-2:1");
}

TEST_CASE("GPUs of a node, of a task, and of all") {
    CHECK(laid_out({"--gres=gpu:2", "-n4", "--ntasks-per-node=2"}, 2) == "node-0:2(2) node-1:2(2)");
    CHECK(laid_out({"--gres=gpu:1", "-N2", "--ntasks-per-node=2"}, 2) == "node-0:2(1) node-1:2(1)");
    CHECK(laid_out({"--gpus-per-task=1", "-N2", "-n4"}, 2) == "node-0:2(2) node-1:2(2)");
    CHECK(laid_out({"-G4", "-N2"}, 2) == "node-0:1(2) node-1:1(2)");
    CHECK(laid_out({"-G2", "--ntasks-per-gpu=1"}, 2) == "node-0:2(2)");
    CHECK(laid_out({"-G4", "--gpus-per-task=2"}, 2) == "node-0:1(2) node-1:1(2)");
}

TEST_CASE("a node without the GPUs that a task is to have gets none, and none of the tasks is lost") {
    const auto placed = [](std::vector<std::string> arguments, const std::vector<int>& gpus) {
        auto nodes = nodes_of(2, static_cast<int>(gpus.size()));
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            nodes[i].gpus_there = gpus[i];
        }
        arguments.emplace_back("x");
        auto options = parse_srun(arguments, {}).value();
        const auto chosen = lay_out(options, nodes);
        std::string text = chosen ? "" : chosen.error().message;
        for (const auto& node : chosen ? *chosen : std::vector<SrunNode>{}) {
            text += node.name + ":" + std::to_string(node.tasks) + " ";
        }
        return text;
    };
    CHECK(placed({"-n4", "--gpus-per-task=1"}, {0, 2, 2}) == "node-1:2 node-2:2 ");
    CHECK(placed({"-O", "-N2", "-n6", "--gpus-per-task=1"}, {5, 1}) == "node-0:5 node-1:1 ");
    CHECK(placed({"-w", "node-0", "-N2", "-n2", "--gpus-per-task=1"}, {0, 2}) ==
          "Requested node configuration is not available: node-0 has 0 GPUs, and a task is to have 1");
    CHECK(placed({"-n1", "--gpus-per-task=3"}, {2, 2}) ==
          "Requested node configuration is not available: 1 nodes of none with 3 GPUs for a task");
}

TEST_CASE("no number is too odd") {
    CHECK(laid_out({"-G2", "--gpus-per-task=0"}, 2) == "node-0:1(0) node-1:1(0)");
    CHECK(laid_out({"-G1000000", "--ntasks-per-gpu=1000000"}, 2)
              .starts_with("More processors requested than permitted: 1048575 tasks"));
    CHECK(laid_out({"--ntasks-per-node=1000000"}, 2)
              .starts_with("More processors requested than permitted: 1048575 tasks"));
}

TEST_CASE("more than there is") {
    CHECK(laid_out({"-n5"}, 2) ==
          "More processors requested than permitted: 5 tasks, and node-[0-1] have 4 slots (-O "
          "starts more tasks than slots)");
    CHECK(laid_out({"-N1", "-n4"}, 2) == "More processors requested than permitted: 4 tasks, and node-0 has "
                                         "2 slots (-O starts more tasks than slots)");
    CHECK(laid_out({"-N3"}, 2) == "Requested node configuration is not available: 3 nodes of node-[0-1]");
    CHECK(laid_out({"-x", "node-[0-1]"}, 2) ==
          "Requested node configuration is not available: 1 nodes of none");
    CHECK(laid_out({"-w", "nowhere"}, 2) == "Invalid node name specified: nowhere is none of node-[0-1]");
    CHECK(laid_out({"-w", "a["}, 2) == "Invalid node name specified: a[");
}

TEST_CASE("the slots of a job that has fewer than its nodes are what there is") {
    auto options = parse_srun({"-n2", "x"}, {}).value();
    const auto nodes = lay_out(options, nodes_of(1));
    REQUIRE(nodes.has_value());
    CHECK(nodes->size() == 2);
}

} // namespace srun_layout_test

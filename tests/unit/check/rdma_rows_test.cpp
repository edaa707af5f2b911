#include "client/check/rdma_rows.hpp"
#include "facts_builder.hpp"
#include "unit/rdma/rdma_builder.hpp"

#include <doctest/doctest.h>

namespace rdma_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

// As the nodes joined, and as they still are.
RdmaFacts facts_with(const std::vector<wire::NodeRecord>& records) {
    RdmaFacts facts{.records = records, .whole = true};
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto node = facts_of(static_cast<int>(i));
        node.facts.system->rdma = records[i].rdma.ports;
        node.facts.system->rdma_inside = records[i].rdma.inside;
        facts.nodes.push_back(std::move(node));
    }
    return facts;
}

CheckRow only(const RdmaFacts& facts, const std::string& check) {
    const auto rows = rows_of(judge_rdma(facts), check);
    REQUIRE(rows.size() == 1);
    return rows[0];
}

std::vector<wire::RdmaPort> rails(int count, int node, std::int64_t gbps = 400) {
    std::vector<wire::RdmaPort> ports;
    for (int i = 0; i < count; ++i) {
        const auto network = "10." + std::to_string(i + 1) + ".0.";
        ports.push_back(
            roce_port("mlx5_" + std::to_string(i), {{3, network + std::to_string(node + 1), 24, ""}}, gbps));
    }
    return ports;
}

TEST_CASE("without RDMA there are no rows, unless it is required") {
    CHECK(judge_rdma(facts_with({node_with(0, {}), node_with(1, {})})).empty());
    const auto row = only(facts_with({node_with(0, {}, "required")}), "rdma-fabric");
    CHECK(row.state == State::fail);
    CHECK(row.text ==
          "`network.rdma` is required, and no port of this node can be used: it has no RDMA device");
}

TEST_CASE("a node's ports: all of use, some left out, none with a link, not inside, off") {
    auto facts = facts_with({node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1")})});
    auto row = only(facts, "rdma");
    CHECK(row.state == State::pass);
    CHECK(row.layer == CheckLayer::host);
    CHECK(row.text == "RDMA: mlx5_0, mlx5_1 InfiniBand 400 Gb/sec");
    facts = facts_with({node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1", 100), down(ib_port("mlx5_2"))})});
    CHECK(only(facts, "rdma").text ==
          "RDMA: mlx5_0 InfiniBand 400 Gb/sec; left out: mlx5_1 (slow: 100 Gb/sec, where "
          "others have 400 Gb/sec), mlx5_2 (it is DOWN)");
    facts = facts_with({node_with(0, rails(6, 0, 200))});
    CHECK(only(facts, "rdma").text.starts_with("RDMA: mlx5_0 RoCE 200 Gb/sec in 10.1.0.0/24, mlx5_1 RoCE"));

    facts = facts_with({node_with(0, {down(ib_port("mlx5_0"))})});
    row = only(facts, "rdma");
    CHECK(row.state == State::warn);
    CHECK(row.text == "no RDMA port has a link: mlx5_0 (it is DOWN)");
    CHECK(row.hint.ends_with("set `network: {rdma: off}`"));
    facts.records[0].rdma.ports = {ib_port("mlx5_0")}; // it joined with a link
    CHECK(only(facts, "rdma").state == State::fail);
    auto iwarp = roce_port("irdma0", {});
    iwarp.link = "iWARP";
    row = only(facts_with({node_with(0, {iwarp})}), "rdma");
    CHECK(row.state == State::pass); // as many servers' network cards are
    CHECK(row.text == "no RDMA that NCCL can use: irdma0 (it speaks iWARP, which NCCL does not)");
    facts = facts_with({node_with(0, {ib_port("mlx5_0")})});
    facts.nodes[0].facts.system->rdma_inside = false;
    row = only(facts, "rdma");
    CHECK(row.state == State::warn);
    CHECK(row.text.ends_with("the container has no /dev/infiniband"));
    facts = facts_with({node_with(0, {ib_port("mlx5_0")}, "off")});
    CHECK(only(facts, "rdma").text == "RDMA is not used: `network.rdma` is off");
}

TEST_CASE("what jobs are told, what is the user's own, and what is out of date") {
    auto facts = facts_with({node_with(0, rails(1, 0)), node_with(1, rails(1, 1))});
    auto rows = rows_of(judge_rdma(facts), "rdma-variables");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].text == "NCCL_IB_HCA==mlx5_0:1; UCX_NET_DEVICES=mlx5_0:1,eth0; NVSHMEM_HCA_LIST=mlx5_0:1");
    facts.records[0].rdma.yours = {"NCCL_IB_HCA"};
    CHECK(rows_of(judge_rdma(facts), "rdma-variables")[0].text.starts_with("NCCL_IB_HCA is yours; UCX_"));

    facts = facts_with({node_with(0, rails(2, 0)), node_with(1, rails(2, 1))});
    auto& ports = facts.nodes[0].facts.system->rdma;
    ports[1] = down(ports[1]);
    rows = rows_of(judge_rdma(facts), "rdma-variables");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].text.find("right would be NCCL_IB_HCA==mlx5_0:1; ") != std::string::npos);
    CHECK(rows[0].hint.starts_with("`dockdist down`, then `dockdist up`"));
    facts.records[0].rdma.ports.clear(); // it came up later
    CHECK(rows_of(judge_rdma(facts), "rdma-variables")[0].text.starts_with(
        "the ports have changed since the node joined: jobs get no variables; right would be NCCL_IB_HCA="));
    facts.whole = false; // what jobs are told is of all nodes
    CHECK(rows_of(judge_rdma(facts), "rdma-variables").empty());
}

TEST_CASE("a whole fabric is one row") {
    const auto row = only(facts_with({node_with(0, rails(2, 0)), node_with(1, rails(2, 1))}), "rdma-fabric");
    CHECK(row.state == State::pass);
    CHECK(row.layer == CheckLayer::network);
    CHECK(row.text == "all go over RoCE in 10.1.0.0/24, 10.2.0.0/24");
    CHECK(only(facts_with({node_with(0, {ib_port("mlx5_0")}), node_with(1, {ib_port("mlx5_0")})}),
               "rdma-fabric")
              .text == "all go over InfiniBand in the InfiniBand subnet fe80:0000:0000:0000");
    CHECK(rows_of(judge_rdma(facts_with({node_with(0, rails(2, 0))})), "rdma-fabric").empty());
}

TEST_CASE("nodes that are cabled to each other are well, where their NCCL knows it") {
    auto row = only(facts_with(cabled(3, "2.30.7")), "rdma-fabric");
    CHECK(row.state == State::pass);
    CHECK(row.text == "all go over RoCE, by cables from node to node");
    row = only(facts_with(cabled(3, "2.28.9")), "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.text.find("does not look which port leads to which node") != std::string::npos);
    CHECK(only(facts_with(cabled(4, "2.30.7")), "rdma-fabric").text.find("node-0 and node-2") !=
          std::string::npos);
}

TEST_CASE("partitions: a port down, a device that is missing, a rate, a node without RDMA") {
    auto nodes = std::vector{node_with(0, rails(2, 0)), node_with(1, rails(2, 1)), node_with(2, rails(2, 2))};
    nodes[1].rdma.ports[1] = down(nodes[1].rdma.ports[1]);
    auto row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.subject == "node-1");
    CHECK(row.text == "mlx5_1:1 is DOWN, and ACTIVE on node-0, node-2");

    nodes = {node_with(0, rails(2, 0)), node_with(1, rails(1, 1)), node_with(2, rails(2, 2))};
    row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.subject == "node-1");
    CHECK(row.text == "mlx5_1:1 is not there, as on node-0, node-2");
    nodes = {node_with(0, rails(1, 0)), node_with(1, rails(1, 1))}; // of two kinds
    nodes[1].rdma.ports[0].device = "rocep1s0f0";
    CHECK(only(facts_with(nodes), "rdma-fabric").state == State::pass);

    nodes = {node_with(0, rails(1, 0)), node_with(1, rails(1, 1)), node_with(2, rails(1, 2, 200))};
    row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.subject == "node-2");
    CHECK(row.text == "mlx5_0:1 has 200 Gb/sec, and node-0, node-1 have 400 Gb/sec");

    nodes = {node_with(0, rails(1, 0)), node_with(1, {}), node_with(2, rails(1, 2))};
    row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.subject == "node-1");
    CHECK(row.text == "the other nodes have RDMA, and this one goes over TCP: it has no RDMA device");
    for (auto& node : nodes) {
        node.rdma.use = "required";
    }
    CHECK(only(facts_with(nodes), "rdma-fabric").state == State::fail);
}

TEST_CASE("two subnets: RoCE may be routed, InfiniBand is not") {
    auto row = only(facts_with({node_with(0, {roce_port("mlx5_0", {{3, "10.1.0.1", 24, ""}})}),
                                node_with(1, {roce_port("mlx5_0", {{3, "10.2.0.1", 24, ""}})})}),
                    "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.subject == "all nodes");
    CHECK(row.text ==
          "no network is common to the RDMA ports of all nodes: node-0 is in 10.1.0.0/24, node-1 is in "
          "10.2.0.0/24");
    row = only(facts_with({node_with(0, {ib_port("mlx5_0", 400, "fe80:0000:0000:0001")}),
                           node_with(1, {ib_port("mlx5_0", 400, "fe80:0000:0000:0002")})}),
               "rdma-fabric");
    CHECK(row.state == State::fail);
}

TEST_CASE("a network that most nodes are in and one is not: none uses it, and that one is named") {
    std::vector<wire::NodeRecord> nodes;
    for (int i = 0; i < 4; ++i) {
        nodes.push_back(node_with(i, rails(2, i)));
    }
    nodes[3].rdma.ports[1].gids = {{3, "10.77.0.4", 24, ""}};
    const auto row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.subject == "node-3");
    CHECK(row.text == "no port in 10.2.0.0/24, as on node-0, node-1, node-2: no node uses these ports");
    // A network for storage that some nodes have, and others not at all, is nobody's loss.
    nodes[3].rdma.ports.pop_back();
    nodes[2].rdma.ports.pop_back();
    for (const auto& one : rows_of(judge_rdma(facts_with(nodes)), "rdma-fabric")) {
        CHECK(one.text.find("no port in") == std::string::npos);
    }
}

TEST_CASE(
    "virtual functions come and go: a node with more of them, or with others that have a link, is whole") {
    std::vector<wire::NodeRecord> nodes;
    for (int i = 0; i < 3; ++i) {
        auto ports = rails(1, i);
        ports[0].pci = "0000:3b:00.0";
        for (const auto* name : {"mlx5_8", "mlx5_9"}) {
            auto part = roce_port(name, {});
            part.part_of = ports[0].pci;
            ports.push_back(i == 0 ? down(part) : part);
        }
        nodes.push_back(node_with(i, ports));
    }
    nodes[1].rdma.ports.pop_back();
    CHECK(only(facts_with(nodes), "rdma-fabric").state == State::pass);
}

TEST_CASE("a node that told of a part of its ports is not said to have others now") {
    auto records = std::vector{node_with(0, rails(2, 0)), node_with(1, rails(2, 1))};
    auto facts = facts_with(records);
    facts.records[0].rdma.ports.pop_back();
    facts.records[0].rdma.cut = true;
    const auto rows = judge_rdma(facts);
    CHECK(rows_of(rows, "rdma-variables").empty());
    const auto fabric = rows_of(rows, "rdma-fabric");
    REQUIRE(fabric.size() == 1);
    CHECK(fabric[0].text.starts_with("node-0 has more RDMA ports"));
    CHECK(fabric[0].hint.starts_with("set NCCL_IB_HCA"));
}

TEST_CASE("GIDs that NCCL cannot be told of") {
    auto nodes = std::vector{node_with(0, {roce_port("mlx5_0", {{3, "10.1.0.1", 24, ""}}),
                                           roce_port("mlx5_1", {{5, "10.2.0.1", 24, ""}})}),
                             node_with(1, rails(2, 1, 200))};
    for (auto& node : nodes) {
        node.rdma.nccl = "2.19.3";
    }
    const auto row = only(facts_with(nodes), "rdma-fabric");
    CHECK(row.state == State::warn);
    CHECK(row.text.starts_with("NCCL takes one GID index for all ports of a node, and on node-0"));
}

TEST_CASE("a node whose facts are not known is judged as it joined") {
    auto facts = facts_with({node_with(0, rails(1, 0)), node_with(1, rails(1, 1))});
    facts.nodes[1].facts.system = Error{ErrorKind::timeout, "", "no end", ""};
    CHECK(only(facts, "rdma-fabric").state == State::pass);
}

} // namespace rdma_rows_test

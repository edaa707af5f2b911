#include "unit/rdma/rdma_builder.hpp"

#include <doctest/doctest.h>

namespace fabric_test {

using namespace dockdist;
using namespace dockdist::testing;
using rdma::judge;

TEST_CASE("no RDMA anywhere: nothing is used, and nothing is said of networks") {
    const auto fabric = judge({node_with(0, {}), node_with(1, {})});
    CHECK(fabric.link.empty());
    CHECK_FALSE(fabric.apart);
    CHECK(fabric.nodes[1].lacks == "it has no RDMA device");
    CHECK(judge({}).nodes.empty());
}

TEST_CASE("InfiniBand 8 x 400 and an adapter for management at 100") {
    const auto node = [](int rank) {
        std::vector<wire::RdmaPort> ports;
        for (int i = 0; i < 8; ++i) {
            ports.push_back(ib_port("mlx5_" + std::to_string(i)));
        }
        ports.push_back(ib_port("mlx5_8", 100));
        return node_with(rank, ports);
    };
    const auto fabric = judge({node(0), node(1)});
    CHECK(fabric.link == "InfiniBand");
    CHECK(fabric.networks == std::vector<std::string>{"fe80:0000:0000:0000"});
    CHECK(used_of(fabric.nodes[0]) ==
          "mlx5_0:1 mlx5_1:1 mlx5_2:1 mlx5_3:1 mlx5_4:1 mlx5_5:1 mlx5_6:1 mlx5_7:1");
    CHECK(why_of(fabric.nodes[1], "mlx5_8") == "slow: 100 Gb/sec, where others have 400 Gb/sec");
    CHECK(rdma::unfit_nodes(fabric).empty());
}

TEST_CASE("where a node's fast ports are down, the slow ones are what all share") {
    const auto fast = roce_port("mlx5_0", {{3, "10.2.0.1", 24, ""}}, 400);
    const auto slow = [](const char* address) { return roce_port("mlx5_1", {{3, address, 24, ""}}, 100); };
    const auto fabric =
        judge({node_with(0, {fast, slow("10.1.0.1")}), node_with(1, {down(fast), slow("10.1.0.2")})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_1:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_0") == "no other node has a port in 10.2.0.0/24");
    CHECK(why_of(fabric.nodes[1], "mlx5_0") == "it is DOWN");
}

TEST_CASE("the port of the management address is left out only where there are faster ones") {
    const auto rail = [](int node) {
        return roce_port("mlx5_0", {{3, "10.1.0." + std::to_string(node), 24, ""}}, 400);
    };
    const auto front = [](int node, std::int64_t gbps) {
        return roce_port("mlx5_1", {{3, "10.0.0." + std::to_string(node), 24, ""}}, gbps);
    };
    auto fabric = judge({node_with(0, {rail(1), front(1, 200)}), node_with(1, {rail(2), front(2, 200)})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_1") ==
          "it has the node's own address: 200 Gb/sec, where others have 400 Gb/sec");
    fabric = judge({node_with(0, {rail(1), front(1, 400)}), node_with(1, {rail(2), front(2, 400)})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1 mlx5_1:1");
}

TEST_CASE("a network that not all have a port in is left out") {
    const auto node = [](int rank, bool storage) {
        std::vector<wire::RdmaPort> ports{
            roce_port("mlx5_0", {{3, "10.1.0." + std::to_string(rank + 1), 24, ""}})};
        if (storage) {
            ports.push_back(roce_port("mlx5_1", {{3, "10.9.0." + std::to_string(rank + 1), 16, ""}}));
        }
        return node_with(rank, ports);
    };
    const auto fabric = judge({node(0, true), node(1, true), node(2, false)});
    CHECK(fabric.networks == std::vector<std::string>{"10.1.0.0/24"});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_1") == "only 2 nodes have a port in 10.9.0.0/16");
    CHECK_FALSE(fabric.apart);
}

TEST_CASE("a routed fabric: rails in networks of their own are used, also beside a shared one for storage") {
    const auto node = [](int rank, bool storage) {
        const auto third = std::to_string(rank);
        std::vector<wire::RdmaPort> ports{roce_port("mlx5_0", {{3, "10.1." + third + ".1", 31, ""}}, 400),
                                          roce_port("mlx5_1", {{3, "10.2." + third + ".1", 31, ""}}, 400)};
        if (storage) {
            ports.push_back(roce_port("mlx5_2", {{3, "10.9.0." + third, 24, ""}}, 200));
        }
        return node_with(rank, ports);
    };
    auto fabric = judge({node(1, false), node(2, false)});
    CHECK(fabric.apart);
    CHECK(used_of(fabric.nodes[1]) == "mlx5_0:1 mlx5_1:1");
    CHECK(rdma::unfit_nodes(fabric).empty()); // a router may lead there
    fabric = judge({node(1, true), node(2, true)});
    CHECK(fabric.apart);
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1 mlx5_1:1 mlx5_2:1");
}

TEST_CASE("two InfiniBand fabrics are told of every node") {
    const auto fabric = judge({node_with(0, {ib_port("mlx5_0", 400, "fe80:0000:0000:0001")}),
                               node_with(1, {ib_port("mlx5_0", 400, "fe80:0000:0000:0002")})});
    CHECK(fabric.apart);
    const auto unfit = rdma::unfit_nodes(fabric);
    REQUIRE(unfit.size() == 2);
    CHECK(unfit[1].node == "node-1");
    CHECK(unfit[1].reason ==
          "it is in the InfiniBand subnet fe80:0000:0000:0002, where not all other nodes are");
}

TEST_CASE("one link layer: what most nodes have, then what carries more, then InfiniBand") {
    const auto ib = ib_port("mlx5_0", 400);
    const auto storage = roce_port("mlx5_1", {{3, "10.9.0.1", 16, ""}}, 200);
    auto fabric = judge({node_with(0, {ib, storage}), node_with(1, {ib, storage})});
    CHECK(fabric.link == "InfiniBand");
    CHECK(why_of(fabric.nodes[0], "mlx5_1") == "its link is RoCE, and the nodes go over InfiniBand");
    fabric = judge({node_with(0, {ib, storage}), node_with(1, {down(ib), storage})});
    CHECK(fabric.link == "Ethernet");
    CHECK(why_of(fabric.nodes[0], "mlx5_0") == "its link is InfiniBand, and the nodes go over RoCE");
}

TEST_CASE("ports with link-local addresses alone: left out beside others, else used and not placed") {
    const auto lonely = roce_port("roceP2p1s0f0", {{3, "169.254.7.1", 16, ""}});
    auto bonded = roce_port("mlx5_2", {});
    bonded.bond = "bond0";
    const auto good = roce_port("rocep1s0f0", {{4, "192.168.100.10", 24, ""}});
    auto fabric = judge({node_with(0, {lonely, bonded, good})});
    CHECK(used_of(fabric.nodes[0]) == "rocep1s0f0:1");
    CHECK(why_of(fabric.nodes[0], "roceP2p1s0f0") == "it has no address but a link-local one");
    CHECK(why_of(fabric.nodes[0], "mlx5_2") == "its interface is a part of bond0 and has no address");
    fabric = judge({node_with(0, {lonely}), node_with(1, {good})});
    CHECK(used_of(fabric.nodes[0]) == "roceP2p1s0f0:1");
    CHECK(fabric.nodes[0].ports[0].network.empty());
    CHECK(rdma::gid_of(fabric.nodes[0].ports[0])->index == 3); // the only one of RoCE v2 with an address
    CHECK_FALSE(fabric.apart);                                 // nobody knows
}

TEST_CASE("virtual functions beside their physical one, parts of a bond with its address, iWARP, others") {
    auto whole = roce_port("mlx5_0", {{3, "10.1.0.1", 24, ""}});
    whole.pci = "0000:3b:00.0";
    auto part = roce_port("mlx5_2", {{3, "10.1.0.9", 24, ""}});
    part.part_of = "0000:3b:00.0";
    const auto second = roce_port("mlx5_1", {{5, "10.1.0.1", 24, "bond0"}});
    auto iwarp = roce_port("irdma0", {});
    iwarp.link = "iWARP";
    auto strange = roce_port("hfi1_0", {});
    strange.link = "Unspecified";
    auto fabric = judge({node_with(0, {whole, second, part, iwarp, strange})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_2") == "a virtual function of mlx5_0");
    CHECK(why_of(fabric.nodes[0], "mlx5_1") == "it has the address of mlx5_0:1, as parts of a bond do");
    CHECK(why_of(fabric.nodes[0], "irdma0") == "it speaks iWARP, which NCCL does not");
    CHECK(why_of(fabric.nodes[0], "hfi1_0") == "its link is Unspecified");
    fabric = judge({node_with(0, {down(whole), part})}); // all that is there of the card
    CHECK(used_of(fabric.nodes[0]) == "mlx5_2:1");
    whole.gids.clear(); // the host has given its address to the virtual one
    fabric = judge({node_with(0, {whole, part})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_2:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_0") == "it has no address but a link-local one");
}

TEST_CASE("a port with addresses of several networks is placed in the same one on all nodes") {
    const auto node = [](int rank, int first, int second) {
        const auto last = std::to_string(rank + 1);
        return node_with(rank,
                         {roce_port("mlx5_0", {{3, "10." + std::to_string(first) + ".0." + last, 24, ""},
                                               {5, "10." + std::to_string(second) + ".0." + last, 24, ""}})});
    };
    const auto fabric = judge({node(0, 1, 2), node(1, 2, 1)});
    CHECK(fabric.nodes[0].ports[0].network == "10.1.0.0/24");
    CHECK(fabric.nodes[1].ports[0].network == "10.1.0.0/24");
    CHECK(rdma::gid_of(fabric.nodes[1].ports[0])->index == 5);
}

TEST_CASE("a node without devices inside, without any, and with RDMA off") {
    auto outside = node_with(1, {ib_port("mlx5_0")});
    outside.rdma.inside = false;
    auto others = ib_port("mlx5_2"); // another node of the host has its file
    others.outside = true;
    auto fabric =
        judge({node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1"), others}), outside, node_with(2, {})});
    CHECK(used_of(fabric.nodes[0]) == "mlx5_0:1 mlx5_1:1");
    CHECK(why_of(fabric.nodes[0], "mlx5_2") == "its file in /dev/infiniband is not in the container");
    const auto unfit = rdma::unfit_nodes(fabric);
    REQUIRE(unfit.size() == 2);
    CHECK(unfit[0].reason == "mlx5_0:1: /dev/infiniband is not in the container");
    CHECK(unfit[1].reason == "it has no RDMA device");
    fabric = judge({node_with(0, {ib_port("mlx5_0"), down(ib_port("mlx5_1"))}, "off")});
    CHECK(fabric.link.empty());
    CHECK(fabric.nodes[0].lacks == "mlx5_0:1: `network.rdma` is off (and no other port is of use)");
}

TEST_CASE("a node that could not tell of all its ports is not said to lack them") {
    auto cut = node_with(1, {}, "required");
    cut.rdma.cut = true;
    CHECK(rdma::unfit_nodes(judge({node_with(0, {ib_port("mlx5_0")}, "required"), cut})).empty());
}

TEST_CASE("what a port of that link has not says nothing: a subnet of RoCE, GIDs of InfiniBand") {
    auto roce = roce_port("mlx5_0", {{3, "10.1.0.1", 24, ""}});
    roce.prefix = "fe80:0000:0000:0000";
    CHECK(judge({node_with(0, {roce})}).nodes[0].ports[0].network == "10.1.0.0/24");
    auto ib = ib_port("mlx5_0");
    ib.gids = {{3, "10.1.0.1", 24, ""}};
    CHECK(judge({node_with(0, {ib})}).networks == std::vector<std::string>{"fe80:0000:0000:0000"});
}

TEST_CASE("rates are told as ibstat counts them") {
    CHECK(rdma::rate_text(400'000) == "400 Gb/sec");
    CHECK(rdma::rate_text(2'500) == "2.5 Gb/sec");
    CHECK(rdma::rate_text(0) == "at no known rate");
}

} // namespace fabric_test

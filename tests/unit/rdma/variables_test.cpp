#include "unit/rdma/rdma_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace variables_test {

using namespace dockdist;
using namespace dockdist::testing;

std::vector<wire::NodeRecord> with_nccl(std::vector<wire::NodeRecord> nodes, const std::string& version) {
    for (auto& node : nodes) {
        node.rdma.nccl = version;
    }
    return nodes;
}

// Nodes with ports of one kind are told the same variables.
bool same_names(const std::vector<wire::NodeRecord>& nodes) {
    std::set<std::set<std::string>> all;
    for (const auto& list : rdma::settings(rdma::judge(nodes)).nodes) {
        std::set<std::string> names;
        std::ranges::transform(list, std::inserter(names, names.end()), &rdma::Variable::name);
        all.insert(names);
    }
    return all.size() == 1;
}

const std::vector<wire::NodeRecord> spark{
    node_with(0, {roce_port("rocep1s0f0", {{4, "192.168.100.10", 24, ""}}),
                  roce_port("roceP2p1s0f0", {{4, "192.168.101.10", 24, ""}})}),
    node_with(1, {roce_port("rocep1s0f0", {{3, "192.168.100.11", 24, ""}}),
                  roce_port("roceP2p1s0f0", {{3, "192.168.101.11", 24, ""}})})};

TEST_CASE("three nodes, each two with a cable: NCCL looks which port leads to which node") {
    const std::string look = " NCCL_IB_SUBNET_AWARE_ROUTING=1 NCCL_IB_MERGE_NICS=0 NCCL_NET_PLUGIN=none";
    const std::string ports =
        "NCCL_IB_HCA==out:1,in:1 UCX_NET_DEVICES=out:1,in:1,eth0 NVSHMEM_HCA_LIST=out:1,in:1";
    for (int i = 0; i < 3; ++i) {
        CHECK(variables_of(cabled(3, "2.30.7"), static_cast<std::size_t>(i)) == ports + look);
    }
    CHECK(rdma::settings(rdma::judge(cabled(3, "2.30.7"))).unsettled.empty());
    CHECK(variables_of(cabled(3, "2.30.7", 26), 0) == ports + look + " NCCL_IB_SUBNET_PREFIX_LEN=26");
    const auto old = rdma::settings(rdma::judge(cabled(3, "2.28.9")));
    CHECK(old.unsettled ==
          "the nodes are cabled to each other, and NCCL 2.28.9 of node-0 does not look which "
          "port leads to which node");
    CHECK(old.hint.find("2.30.5 or newer") != std::string::npos);
}

TEST_CASE("a ring of four: NCCL reaches neighbours alone") {
    const auto told = rdma::settings(rdma::judge(cabled(4, "2.30.7")));
    CHECK(told.unsettled == "no cable joins node-0 and node-2, and NCCL reaches only neighbours");
    CHECK(told.hint.find("NCCL_ALGO: Ring") != std::string::npos);
}

TEST_CASE("what is no cable: two nodes alone, a network of all, ports behind a router") {
    const auto looks = [](const std::vector<wire::NodeRecord>& nodes) {
        return variables_of(nodes, 0).find("SUBNET_AWARE") != std::string::npos;
    };
    CHECK(looks(cabled(3, "")));
    CHECK_FALSE(looks(cabled(2, "2.30.7")));
    CHECK_FALSE(looks(spark));
    auto routed = cabled(3, "2.30.7");
    for (int i = 0; i < 3; ++i) {
        routed[static_cast<std::size_t>(i)].rdma.ports = {
            roce_port("out", {{3, "10.30." + std::to_string(i) + ".1", 24, ""}})};
    }
    CHECK_FALSE(looks(routed));
}

TEST_CASE("without RDMA there is nothing to say") {
    CHECK(variables_of({node_with(0, {}), node_with(1, {})}, 0).empty());
}

TEST_CASE("InfiniBand: the ports, exactly; no GIDs") {
    CHECK(variables_of({node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1")})}, 0) ==
          "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eth0 "
          "NVSHMEM_HCA_LIST=mlx5_0:1,mlx5_1:1");
}

TEST_CASE(
    "NVSHMEM is kept from active ports that are not used, where that takes no GPU's near port from it") {
    auto nodes = std::vector{node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1", 100)}),
                             node_with(1, {ib_port("mlx5_0"), down(ib_port("mlx5_1", 100))})};
    CHECK(variables_of(nodes, 0) == "NCCL_IB_HCA==mlx5_0:1 UCX_NET_DEVICES=mlx5_0:1,eth0 "
                                    "NVSHMEM_HCA_LIST=mlx5_0:1 NVSHMEM_ENABLE_NIC_PE_MAPPING=1");
    CHECK(variables_of(nodes, 1).find("MAPPING") == std::string::npos);
    nodes = {node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1"), ib_port("mlx5_2", 100)})};
    nodes[0].gpus = 8;
    CHECK(variables_of(nodes, 0).find("MAPPING") == std::string::npos);
    nodes[0].gpus = 2;
    CHECK(variables_of(nodes, 0).ends_with("NVSHMEM_ENABLE_NIC_PE_MAPPING=1"));
}

TEST_CASE("who chooses the ports is told nothing that was meant for others") {
    const auto port = [](const char* first, const char* second) {
        return roce_port("mlx5_0", {{3, first, 16, "eth2"}, {5, second, 24, "eth2.100"}});
    };
    std::vector nodes{node_with(0, {port("169.254.1.1", "10.1.0.1")}),
                      node_with(1, {port("10.7.0.1", "10.1.0.2")})};
    nodes[0].rdma.yours = {"NCCL_IB_HCA", "UCX_NET_DEVICES", "UCX_IB_GID_INDEX", "NVSHMEM_HCA_PE_MAPPING"};
    CHECK(variables_of(nodes, 0) ==
          "NCCL_IB_HCA==mlx5_0:1 UCX_NET_DEVICES=mlx5_0:1,eth0 UCX_IB_GID_INDEX=5"); // shown as the user's
    CHECK(variables_of(nodes, 1).find("NCCL_IB_ADDR_RANGE=") != std::string::npos);

    const auto not_for = [](const std::set<std::string, std::less<>>& yours) {
        const auto names = rdma::not_for([&](std::string_view name) { return yours.contains(name); });
        return std::set<std::string>(names.begin(), names.end());
    };
    CHECK(not_for({}).empty());
    CHECK(not_for({"NCCL_IB_GID_INDEX", "NCCL_NET"}).empty());
    CHECK(not_for({"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"}) ==
          std::set<std::string>{"NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY"});
}

TEST_CASE("where a node could not tell of all its ports, none is told of any") {
    auto nodes = spark;
    nodes[1].rdma.cut = true;
    CHECK(variables_of(nodes, 0).empty());
    CHECK(rdma::settings(rdma::judge(nodes)).unsettled.starts_with("node-1 has more RDMA ports"));
}

TEST_CASE("a value is a node's if dockdist told it to one, or one has the variable from its user") {
    auto nodes = with_nccl(spark, "2.20.5");
    CHECK(rdma::is_told(nodes, "NCCL_IB_GID_INDEX", "3"));
    CHECK(rdma::is_told(nodes, "NCCL_IB_HCA", "=rocep1s0f0:1,roceP2p1s0f0:1"));
    CHECK_FALSE(rdma::is_told(nodes, "NCCL_IB_GID_INDEX", "5"));
    CHECK_FALSE(rdma::is_told(nodes, "NCCL_IB_HCA", "rocep1s0f0"));
    nodes[1].rdma.yours = {"NCCL_IB_HCA"};
    CHECK(rdma::is_told(nodes, "NCCL_IB_HCA", "rocep1s0f0"));
}

TEST_CASE("NCCL from 2.21 finds the GIDs itself; an older one is told, on each node its own") {
    CHECK(variables_of(with_nccl(spark, "2.21.5"), 0).find("GID") == std::string::npos);
    CHECK(variables_of(with_nccl(spark, ""), 0).find("GID") == std::string::npos);
    const auto old = with_nccl(spark, "2.20.5");
    CHECK(variables_of(old, 0) ==
          "NCCL_IB_HCA==rocep1s0f0:1,roceP2p1s0f0:1 UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1,eth0 "
          "NVSHMEM_HCA_LIST=rocep1s0f0:1,roceP2p1s0f0:1 NCCL_IB_GID_INDEX=4");
    CHECK(variables_of(old, 1).ends_with(" NCCL_IB_GID_INDEX=3"));
    CHECK(same_names(old));
    auto one_old = spark;
    one_old[1].rdma.nccl = "2.18.1";
    CHECK(same_names(one_old));
}

TEST_CASE("two machines and a cable, with addresses of their own making") {
    const std::vector nodes{node_with(0, {roce_port("rocep1s0f0", {{3, "169.254.7.1", 16, ""}})}),
                            node_with(1, {roce_port("rocep1s0f0", {{5, "169.254.9.1", 16, ""}})})};
    CHECK(variables_of(nodes, 1).find("GID") == std::string::npos);
    CHECK(variables_of(with_nccl(nodes, "2.20.5"), 1).ends_with("NCCL_IB_GID_INDEX=5"));
    CHECK_FALSE(rdma::judge(nodes).apart);
}

TEST_CASE("ports of a node that have theirs at different indices cannot be told to an old NCCL") {
    const std::vector nodes{node_with(
        0, {roce_port("mlx5_0", {{3, "10.1.0.1", 24, ""}}), roce_port("mlx5_1", {{5, "10.2.0.1", 24, ""}})})};
    CHECK(rdma::settings(rdma::judge(nodes)).unsettled.empty());
    const auto old = rdma::settings(rdma::judge(with_nccl(nodes, "2.19.3")));
    CHECK(old.unsettled ==
          "NCCL takes one GID index for all ports of a node, and on node-0 mlx5_0:1 has its own at "
          "3, mlx5_1:1 has its own at 5");
    CHECK(variables_of(with_nccl(nodes, "2.19.3"), 0).find("GID") == std::string::npos);
    // The first one that has several is named.
    const std::vector two{node_with(0, {roce_port("mlx5_0", {{3, "10.1.0.2", 24, ""}}),
                                        roce_port("mlx5_1", {{3, "10.2.0.2", 24, ""}})}),
                          node_with(1, nodes[0].rdma.ports)};
    CHECK(rdma::settings(rdma::judge(with_nccl(two, "2.19.3"))).unsettled.find(" on node-1 mlx5_0:1 ") !=
          std::string::npos);
}

TEST_CASE("addresses of IPv6 alone") {
    const std::vector nodes{node_with(0, {roce_port("bnxt_re0", {{3, "fd00:1::1", 64, ""}})}),
                            node_with(1, {roce_port("bnxt_re0", {{5, "fd00:1::2", 64, ""}})})};
    CHECK(variables_of(nodes, 0) ==
          "NCCL_IB_HCA==bnxt_re0:1 UCX_NET_DEVICES=bnxt_re0:1,eth0 NVSHMEM_HCA_LIST=bnxt_re0:1 "
          "NCCL_IB_ADDR_FAMILY=AF_INET6 UCX_IB_GID_INDEX=3 NVSHMEM_IB_GID_INDEX=3");
    CHECK(variables_of(nodes, 1).ends_with("NVSHMEM_IB_GID_INDEX=5"));
}

TEST_CASE("a first GID of another network: NCCL is told the range") {
    const auto port = [](const char* first, const char* second) {
        return roce_port("mlx5_0", {{3, first, 16, "eth2"}, {5, second, 24, "eth2.100"}});
    };
    const std::vector nodes{node_with(0, {port("169.254.1.1", "10.1.0.1")}),
                            node_with(1, {port("10.7.0.1", "10.1.0.2")})};
    CHECK(variables_of(nodes, 0) ==
          "NCCL_IB_HCA==mlx5_0:1 UCX_NET_DEVICES=mlx5_0:1,eth0 NVSHMEM_HCA_LIST=mlx5_0:1 "
          "NCCL_IB_ADDR_RANGE=10.1.0.0/24 UCX_IB_GID_INDEX=5 NVSHMEM_IB_GID_INDEX=5");
    CHECK(same_names(nodes));
    CHECK(variables_of(with_nccl(nodes, "2.19.3"), 0).find("NCCL_IB_GID_INDEX=5") != std::string::npos);
}

TEST_CASE("rails in networks of their own, each behind another address: one range, or one index, or none") {
    const auto two_rails = [](int rank, const char* stray, int index) {
        const auto last = std::to_string(rank + 1);
        return node_with(rank, {roce_port("mlx5_0", {{3, stray, 16, ""}, {5, "10.1.0." + last, 24, ""}}),
                                roce_port("mlx5_1", {{3, stray + std::string("0"), 16, ""},
                                                     {index, "10.2.0." + last, 24, ""}})});
    };
    // 10.1.0.1 and 10.2.0.1 are in 10.0.0.0/14, and 172.16.… is not.
    CHECK(variables_of({two_rails(0, "172.16.0.1", 5), two_rails(1, "172.17.0.1", 5)}, 0)
              .find("NCCL_IB_ADDR_RANGE=10.0.0.0/14 ") != std::string::npos);
    // 10.3.… is, too: only an index is left.
    CHECK(variables_of({two_rails(0, "10.3.0.1", 5), two_rails(1, "172.17.0.1", 5)}, 1)
              .find("NCCL_IB_GID_INDEX=5") != std::string::npos);
    const auto none =
        rdma::settings(rdma::judge({two_rails(0, "10.3.0.1", 7), two_rails(1, "172.17.0.1", 7)}));
    CHECK(none.unsettled.starts_with(
        "NCCL takes one GID index for all ports of a node, and on node-0 mlx5_0:1"));
}

TEST_CASE("EFA goes through libfabric, which finds it; required keeps it from other ways") {
    auto port = roce_port("rdmap16s27", {}, 100);
    port.link = rdma::efa;
    CHECK(variables_of({node_with(0, {port})}, 0).empty());
    CHECK(variables_of({node_with(0, {port}, "required")}, 0) == "FI_PROVIDER=efa");
}

TEST_CASE("required keeps NCCL and UCX from sockets, on every node; off keeps NCCL from RDMA") {
    const std::vector nodes{node_with(0, {ib_port("mlx5_0")}, "required"), node_with(1, {}, "required")};
    CHECK(variables_of(nodes, 0) ==
          "NCCL_NET=IB NCCL_IB_HCA==mlx5_0:1 UCX_NET_DEVICES=mlx5_0:1 NVSHMEM_HCA_LIST=mlx5_0:1");
    CHECK(variables_of(nodes, 1) == "NCCL_NET=IB");
    CHECK(variables_of({node_with(0, {ib_port("mlx5_0")}, "off")}, 0) == "NCCL_IB_DISABLE=1");
}

TEST_CASE("all that is set is one of the names that are known") {
    std::set<std::string> known(rdma::names_by_node.begin(), rdma::names_by_node.end());
    known.insert(rdma::names_for_all.begin(), rdma::names_for_all.end());
    for (const auto& nodes :
         {spark, with_nccl(spark, "2.19.3"),
          std::vector{node_with(0, {ib_port("mlx5_0"), ib_port("mlx5_1", 10)}, "required")},
          cabled(3, "2.30.7", 26), std::vector{node_with(0, {roce_port("b", {{3, "fd00::1", 64, ""}})})}}) {
        for (const auto& list : rdma::settings(rdma::judge(nodes)).nodes) {
            for (const auto& variable : list) {
                CHECK(known.contains(variable.name));
                CHECK_FALSE(variable.why.empty());
            }
        }
    }
}

TEST_CASE("versions of NCCL") {
    CHECK(rdma::finds_gids(""));
    CHECK(rdma::finds_gids("2.21.5"));
    CHECK(rdma::finds_gids("3.0.0"));
    CHECK(rdma::finds_gids("unknown"));
    CHECK_FALSE(rdma::finds_gids("2.9.9"));
    CHECK_FALSE(rdma::finds_gids("2.20.5"));
}

} // namespace variables_test

#include "node/system/rdma_ports.hpp"
#include "shared/core/text.hpp"
#include "unit/node/system/sysfs_tree.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

namespace rdma_ports_test {

using namespace dockdist;
using namespace dockdist::node;

std::vector<wire::RdmaPort> read(const SysfsTree& tree, const std::map<std::string, int>& prefixes = {}) {
    return read_rdma_ports({.infiniband = tree.infiniband(), .net = tree.net()}, prefixes);
}

TEST_CASE("a host without RDMA has no ports") {
    const SysfsTree tree;
    CHECK(read(tree).empty());
    tree.write("class/infiniband/abi_version", "1\n");
    CHECK(read(tree).empty());
}

TEST_CASE("two RoCE ports, with addresses on a VLAN, of which the GIDs of RoCE v2 are told") {
    const SysfsTree tree;
    tree.add({.device = "mlx5_0", .pci = "0000:3b:00.0", .netdev = "ens1f0np0"});
    tree.add_roce_gids("mlx5_0", "ens1f0np0", {"10.1.0.5"});
    tree.add_gid("mlx5_0", 4, SysfsTree::mapped("10.9.0.5"), "IB/RoCE v1", "ens1f0np0.100");
    tree.add_gid("mlx5_0", 5, SysfsTree::mapped("10.9.0.5"), "RoCE v2", "ens1f0np0.100");
    tree.add({.device = "mlx5_1",
              .pci = "0000:3b:00.1",
              .netdev = "ens1f1np1",
              .state = "1: DOWN",
              .rate = "40 Gb/sec (4X QDR)"});
    const auto ports = read(tree, {{"10.1.0.5", 24}, {"10.9.0.5", 16}});
    REQUIRE(ports.size() == 2);
    CHECK(ports[0] ==
          wire::RdmaPort{.device = "mlx5_0",
                         .port = 1,
                         .link = "Ethernet",
                         .state = "ACTIVE",
                         .mbps = 200'000,
                         .netdev = "ens1f0np0",
                         .gids = {{3, "10.1.0.5", 24, "ens1f0np0"}, {5, "10.9.0.5", 16, "ens1f0np0.100"}}});
    CHECK(ports[1] == wire::RdmaPort{.device = "mlx5_1",
                                     .port = 1,
                                     .link = "Ethernet",
                                     .state = "DOWN",
                                     .mbps = 40'000,
                                     .netdev = "ens1f1np1"});
}

TEST_CASE("InfiniBand: nine devices, in the order of their numbers, with the prefix of their subnet") {
    const SysfsTree tree;
    for (int i = 0; i < 11; ++i) {
        const auto name = "mlx5_" + std::to_string(i);
        tree.add({.device = name,
                  .pci = "0000:1" + std::to_string(i % 10) + ":00.0",
                  .netdev = "ib" + std::to_string(i),
                  .rate = i == 8 ? "100 Gb/sec (4X EDR)" : "400 Gb/sec (4X NDR)",
                  .layer = "InfiniBand"});
        tree.write("class/infiniband/" + name + "/ports/1/gids/0",
                   "fe80:0000:0000:0000:506b:4b03:00c1:0200\n");
    }
    const auto ports = read(tree);
    REQUIRE(ports.size() == 11);
    CHECK(ports[2].device == "mlx5_2");
    CHECK(ports[10].device == "mlx5_10");
    CHECK(ports[8].mbps == 100'000);
    CHECK(ports[0].prefix == "fe80:0000:0000:0000");
    CHECK(ports[0].gids.empty());
    CHECK(ports[0].netdev == "ib0");
}

TEST_CASE("DGX Spark: a port of the machine is two devices, and indices move") {
    const SysfsTree tree;
    tree.add({.device = "rocep1s0f0", .pci = "0000:01:00.0", .netdev = "enp1s0f0np0"});
    tree.add({.device = "rocep1s0f1", .pci = "0000:01:00.1", .netdev = "enp1s0f1np1", .state = "1: DOWN"});
    tree.add({.device = "roceP2p1s0f0", .pci = "0002:01:00.0", .netdev = "enP2p1s0f0np0"});
    tree.add(
        {.device = "roceP2p1s0f1", .pci = "0002:01:00.1", .netdev = "enP2p1s0f1np1", .state = "1: DOWN"});
    tree.add_roce_gids("rocep1s0f0", "enp1s0f0np0", {"192.168.100.10"}, 3);
    tree.add_roce_gids("roceP2p1s0f0", "enP2p1s0f0np0", {"169.254.7.1"});
    const auto ports = read(tree, {{"192.168.100.10", 24}, {"169.254.7.1", 16}});
    REQUIRE(ports.size() == 4);
    CHECK(ports[0].device == "roceP2p1s0f0"); // the active ones first
    CHECK(ports[0].gids == std::vector<wire::RdmaGid>{{3, "169.254.7.1", 16, "enP2p1s0f0np0"}});
    CHECK(ports[1].device == "rocep1s0f0");
    CHECK(ports[1].gids == std::vector<wire::RdmaGid>{{4, "192.168.100.10", 24, "enp1s0f0np0"}});
    CHECK(ports[2].state == "DOWN");
}

TEST_CASE("EFA and iWARP are named as what they are") {
    const SysfsTree tree;
    tree.add({.device = "rdmap16s27",
              .pci = "0000:10:1b.0",
              .rate = "100 Gb/sec (4X EDR)",
              .layer = "Unspecified"});
    tree.link("devices/0000:10:1b.0/driver", "../../bus/pci/drivers/efa");
    tree.add({.device = "irdma0", .pci = "0000:20:00.0", .netdev = "eth7"});
    tree.write("class/infiniband/irdma0/node_type", "4: RNIC\n");
    tree.add_roce_gids("irdma0", "eth7", {"10.1.0.5"});
    tree.add({.device = "efa_0", .pci = "0000:11:1b.0", .layer = "Unspecified"});
    tree.write("devices/0000:11:1b.0/vendor", "0x1d0f\n");
    const auto ports = read(tree);
    REQUIRE(ports.size() == 3);
    CHECK(ports[0].link == "EFA");
    CHECK(ports[1].link == "iWARP");
    CHECK(ports[1].gids.empty());
    CHECK(ports[2].link == "EFA");
}

TEST_CASE("Broadcom with IPv6 alone: link-local GIDs are none, a global one is") {
    const SysfsTree tree;
    tree.add({.device = "bnxt_re0", .pci = "0000:17:00.0", .netdev = "ens2"});
    tree.add_gid("bnxt_re0", 0, "fe80:0000:0000:0000:b226:28ff:fe5b:c0d0", "IB/RoCE v1", "ens2");
    tree.add_gid("bnxt_re0", 1, "fe80:0000:0000:0000:b226:28ff:fe5b:c0d0", "RoCE v2", "ens2");
    CHECK(read(tree).at(0).gids.empty());
    tree.add_gid("bnxt_re0", 2, "fd00:0001:0000:0000:0000:0000:0000:0005", "IB/RoCE v1", "ens2");
    tree.add_gid("bnxt_re0", 3, "fd00:0001:0000:0000:0000:0000:0000:0005", "RoCE v2", "ens2");
    CHECK(read(tree, {{"fd00:1::5", 64}}).at(0).gids ==
          std::vector<wire::RdmaGid>{{3, "fd00:1::5", 64, "ens2"}});
    CHECK(read(tree).at(0).gids == std::vector<wire::RdmaGid>{{3, "fd00:1::5", 0, "ens2"}});
}

TEST_CASE("virtual functions tell of their physical one, parts of a bond of the bond") {
    const SysfsTree tree;
    tree.add({.device = "mlx5_0", .pci = "0000:3b:00.0", .netdev = "ens1f0"});
    tree.add({.device = "mlx5_2", .pci = "0000:3b:00.2", .netdev = "ens1f0v0"});
    tree.link("devices/0000:3b:00.2/physfn", "../0000:3b:00.0");
    tree.add({.device = "mlx5_bond_0", .pci = "0000:5e:00.0", .netdev = "ens3f0"});
    tree.write("devices/0000:5e:00.0/net/ens3f1/x", "");
    tree.add_roce_gids("mlx5_bond_0", "bond0", {"10.1.0.5"});
    tree.add({.device = "mlx5_6", .pci = "0000:6e:00.0", .netdev = "ens4"});
    tree.write("class/net/bond1/bonding/mode", "802.3ad 4\n");
    tree.link("class/net/ens4/master", "../bond1");
    const auto ports = read(tree);
    REQUIRE(ports.size() == 4);
    CHECK(ports[0].pci == "0000:3b:00.0");
    CHECK(ports[1].part_of == "0000:3b:00.0");
    CHECK(ports[1].pci.empty()); // nobody's whole
    CHECK(ports[2].device == "mlx5_6");
    CHECK(ports[2].bond == "bond1");
    CHECK(ports[3].device == "mlx5_bond_0");
    CHECK(ports[3].netdev == "bond0");
    CHECK(ports[3].bond.empty());
}

TEST_CASE("two ports of one device have the interfaces that say so") {
    const SysfsTree tree;
    tree.add({.device = "mlx4_0", .pci = "0000:05:00.0", .netdev = "eth2", .layer = "InfiniBand", .port = 1});
    tree.add({.device = "mlx4_0", .pci = "0000:05:00.0", .netdev = "eth3", .layer = "Ethernet", .port = 2});
    const auto ports = read(tree);
    REQUIRE(ports.size() == 2);
    CHECK(ports[0].netdev == "eth2");
    CHECK(ports[1].netdev == "eth3");
    CHECK(ports[1].port == 2);
}

TEST_CASE("a device whose file is not in the container, as those of others are") {
    const SysfsTree tree;
    tree.add({.device = "mlx5_0", .pci = "0000:3b:00.0"});
    tree.add({.device = "mlx5_1", .pci = "0000:5e:00.0"});
    tree.write("devices/0000:3b:00.0/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
    tree.write("devices/0000:5e:00.0/infiniband_verbs/uverbs1/ibdev", "mlx5_1\n");
    tree.write("dev/uverbs1", "");
    const auto ports = read_rdma_ports(
        {.infiniband = tree.infiniband(), .net = tree.net(), .devices = tree.infiniband() + "/../../dev"},
        {});
    REQUIRE(ports.size() == 2);
    CHECK(ports[0].outside);
    CHECK_FALSE(ports[1].outside);
}

TEST_CASE("what no kernel would say is left out, and nothing is without an end") {
    const SysfsTree tree;
    tree.add({.device = "mlx5_0", .rate = "nonsense", .layer = "Ether\x1b[2Jnet"});
    tree.add({.device = "new\nline"});
    tree.add({.device = "a=b,c"});
    tree.add({.device = "-x"});
    tree.add({.device = std::string(70, 'd')});
    tree.add({.device = "mlx5_1", .state = std::string(5000, 'A'), .rate = "1e300 Gb/sec"});
    tree.write("class/infiniband/mlx5_1/ports/none/state", "4: ACTIVE\n");
    tree.write("class/infiniband/mlx5_1/ports/99999999999/state", "4: ACTIVE\n");
    tree.link("class/infiniband/loop", "loop");
    tree.link("class/infiniband/mlx5_1/device", "device");
    tree.link("class/infiniband/mlx5_2/ports", "../mlx5_2/ports");
    const auto fifo = tree.infiniband() + "/mlx5_0/ports/1/state";
    std::filesystem::remove(fifo);
    REQUIRE(::mkfifo(fifo.c_str(), 0644) == 0); // nobody writes to it
    const auto ports = read(tree);
    REQUIRE(ports.size() == 2);
    CHECK(ports[0] == wire::RdmaPort{.device = "mlx5_0"});
    CHECK(ports[1] == wire::RdmaPort{.device = "mlx5_1", .link = "Ethernet"});

    const SysfsTree many;
    for (int i = 0; i < 80; ++i) {
        many.add({.device = "rxe" + std::to_string(i), .state = i < 70 ? "1: DOWN" : "4: ACTIVE"});
    }
    for (int i = 0; i < 300; ++i) {
        many.add_gid("rxe79", i, SysfsTree::mapped("10.1.0." + std::to_string(i % 250 + 1)), "RoCE v2",
                     i == 0   ? "eth0\nLD_PRELOAD=x"
                     : i == 1 ? "eth,0"
                              : "eth0");
    }
    const auto some = read(many);
    REQUIRE(some.size() == wire::most_rdma_ports);
    CHECK(some[9].device == "rxe79");
    CHECK(some[10].device == "rxe0");
    CHECK(some[9].gids.size() == wire::most_rdma_gids);
    CHECK(some[9].gids[0].netdev == "eth0");
    CHECK(some[9].gids[1].netdev.empty());
}

TEST_CASE("the loopback's address has its network") {
    CHECK(address_prefixes().at("127.0.0.1") == 8);
}

} // namespace rdma_ports_test

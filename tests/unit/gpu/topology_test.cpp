#include "shared/gpu/topology.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <functional>

namespace topology_test {

using namespace dockdist;

namespace {

// An HGX H100: eight GPUs at NVSwitches, as many network cards, two sockets.
constexpr const char* hgx =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU "
    "NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tPIX\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU3\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU4\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tSYS\tPIX\t56-111,168-223\t1\t\tN/A\n"
    "GPU5\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tSYS\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "GPU6\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tSYS\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "GPU7\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tSYS\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "NIC0\tPIX\tNODE\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tSYS\tSYS\tPIX\tNODE\tNODE\tNODE\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between "
    "NUMA nodes (e.g., QPI/UPI)\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

// Six PCIe cards, pairs below one switch each; the third pair at the other socket.
constexpr const char* pairs =
    "\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tPIX\tNODE\tNODE\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU1\tPIX\t X \tNODE\tNODE\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU2\tNODE\tNODE\t X \tPIX\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU3\tNODE\tNODE\tPIX\t X \tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU4\tSYS\tSYS\tSYS\tSYS\t X \tPIX\t24-47,72-95\t1\t\tN/A\n"
    "GPU5\tSYS\tSYS\tSYS\tSYS\tPIX\t X \t24-47,72-95\t1\t\tN/A\n";

// Two bridges of four NVLinks, one at each socket, beside two cards without.
constexpr const char* bridges =
    "        GPU0    GPU1    GPU2    GPU3    GPU4    GPU5    mlx5_0  CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV4     PHB     PHB     SYS     SYS     NODE    0-31            0\n"
    "GPU1    NV4      X      PHB     PHB     SYS     SYS     NODE    0-31            0\n"
    "GPU2    PHB     PHB      X      PXB     SYS     SYS     NODE    0-31            0\n"
    "GPU3    PHB     PHB     PXB      X      SYS     SYS     NODE    0-31            0\n"
    "GPU4    SYS     SYS     SYS     SYS      X      NV4     SYS     32-63           1\n"
    "GPU5    SYS     SYS     SYS     SYS     NV4      X      SYS     32-63           1\n"
    "mlx5_0  NODE    NODE    NODE    NODE    SYS     SYS      X\n";

std::string chosen(const char* text, std::size_t count, std::vector<int> candidates) {
    const auto choice = choose_gpus(count, candidates, parse_topology(text));
    std::string shown;
    for (const auto index : choice.indices) {
        shown += std::to_string(index) + " ";
    }
    return shown + choice.together;
}

const std::vector<int> eight{0, 1, 2, 3, 4, 5, 6, 7};
const std::vector<int> six{0, 1, 2, 3, 4, 5};

} // namespace

TEST_CASE("the matrix of a machine with NVSwitches, network cards and an underlined header") {
    const auto topology = parse_topology(hgx);
    REQUIRE(topology.links.size() == 8);
    CHECK(topology.between(0, 7) == Topology::Link{GpuLink::nvlink, 18});
    CHECK(topology.between(3, 3) == Topology::Link{});
    CHECK(topology.numa_node == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(topology.on_one_numa_node(4, 7));
    CHECK_FALSE(topology.on_one_numa_node(3, 4));
}

TEST_CASE("the matrix of machines with PCIe cards, by tabs and by blanks") {
    const auto pcie = parse_topology(pairs);
    CHECK(pcie.between(4, 5).kind == GpuLink::switch_one);
    CHECK(pcie.between(0, 2).kind == GpuLink::numa_node);
    CHECK(pcie.between(0, 4).kind == GpuLink::system);
    CHECK(pcie.numa_node == std::vector<int>{0, 0, 0, 0, 1, 1});
    const auto mixed = parse_topology(bridges);
    CHECK(mixed.between(1, 0) == Topology::Link{GpuLink::nvlink, 4});
    CHECK(mixed.between(2, 3).kind == GpuLink::switch_many);
    CHECK(mixed.between(0, 3).kind == GpuLink::host_bridge);
    CHECK(mixed.numa_node == std::vector<int>{0, 0, 0, 0, 1, 1});
}

TEST_CASE("what the text does not say is unknown") {
    CHECK(parse_topology("").empty());
    CHECK(parse_topology("Failed to initialize NVML: Unknown Error\n").empty());
    CHECK(parse_topology("GPU99\tGPU-1\tGPUX\n").empty());
    // A virtual machine without NUMA nodes, a row that is cut off, one that is missing, cells of no meaning.
    const auto topology = parse_topology("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
                                         "GPU0\t X \tNV\tPIX\tSYS\t0-251\t\t\tN/A\n"
                                         "GPU1\tNV2\t X\n"
                                         "GPU2\tPXB\tDR\t X \tnode\t0-251\t0-1\n"
                                         "GPU7\tPXB\tPXB\tPXB\tPXB\t1\t1\n");
    REQUIRE(topology.links.size() == 4);
    CHECK(topology.between(0, 1) == Topology::Link{GpuLink::nvlink, 2}); // its mirror says nothing
    CHECK(topology.between(0, 2).kind == GpuLink::switch_many); // its mirror says PIX, which is nearer
    CHECK(topology.between(3, 0).kind == GpuLink::system);      // row 3 is missing
    CHECK(topology.between(2, 3).kind == GpuLink::unknown);
    CHECK(topology.between(0, 7).kind == GpuLink::unknown);
    CHECK(topology.between(-1, 0).kind == GpuLink::unknown);
    CHECK(topology.numa_node == std::vector<int>{-1, -1, -1, -1});
    // Cells of network cards that stand without a blank between them.
    CHECK(parse_topology("\tGPU0\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                         "GPU0\t X \tNODENODE    PIX\t0-55,112-167\t1\t\tN/A\n")
              .numa_node == std::vector<int>{1});
}

TEST_CASE("at NVSwitches, where all links are alike, GPUs of one NUMA node go together") {
    CHECK(chosen(hgx, 2, eight) == "0 1 NVLink");
    CHECK(chosen(hgx, 4, {1, 3, 4, 5, 6, 7}) == "4 5 6 7 NVLink");
    CHECK(chosen(hgx, 2, {0, 5, 3, 4}) == "0 3 NVLink");
    CHECK(chosen(hgx, 8, eight) == "0 1 2 3 4 5 6 7 NVLink");
}

TEST_CASE("the nearest go together, and whole groups are left to others") {
    CHECK(chosen(pairs, 2, six) == "4 5 one PCIe switch"); // the other two pairs are good for a job of four
    CHECK(chosen(pairs, 2, {1, 2, 3, 4}) == "2 3 one PCIe switch");
    CHECK(chosen(pairs, 4, six) == "0 1 2 3 the same NUMA node");
    CHECK(chosen(pairs, 3, {0, 1, 2, 4, 5}) == "0 1 2 the same NUMA node");
    CHECK(chosen(pairs, 2, {1, 3, 4}) == "1 3 the same NUMA node");
    CHECK(chosen(pairs, 2, {1, 4}) == "1 4 different NUMA nodes");
    CHECK(chosen(pairs, 1, {0, 1, 2, 4, 5}) == "2 "); // its neighbour is taken: no pair is broken
    CHECK(chosen(pairs, 1, six) == "4 ");             // and here the pair that fits no job of four
}

TEST_CASE("the farthest link decides before the sum of all") {
    CHECK(chosen(bridges, 2, {0, 2, 3, 4, 5}) == "4 5 NVLink");
    CHECK(chosen(bridges, 2, {0, 2, 3}) == "2 3 PCIe switches");
    CHECK(chosen(bridges, 4, six) == "0 1 2 3 the same NUMA node"); // not both bridges, across the sockets
}

TEST_CASE("where nothing is known, the lowest") {
    CHECK(chosen("", 2, {5, 3, 1}) == "1 3 ");
    CHECK(chosen("\tGPU0\tGPU1\n", 2, {40, 5, 50}) == "5 40 "); // of others than these
    CHECK(chosen(hgx, 0, eight).empty());
    const auto only_numa = "\tGPU0\tGPU1\tGPU2\nGPU0 ? ? ? 0-1 0\nGPU1 ? ? ? 2-3 1\nGPU2 ? ? ? 2-3 1\n";
    CHECK(chosen(only_numa, 2, {0, 1, 2}) == "1 2 the same NUMA node");
}

TEST_CASE("beyond sixteen candidates groups grow from each of them, and the best is taken") {
    std::string text;
    for (int i = 0; i < 20; ++i) {
        text += fmt::format("\tGPU{}", i);
    }
    for (int i = 0; i < 20; ++i) {
        text += fmt::format("\nGPU{}", i);
        for (int j = 0; j < 20; ++j) {
            text += i == j ? "\tX" : i / 5 == j / 5 ? "\tPIX" : i / 10 == j / 10 ? "\tNODE" : "\tSYS";
        }
    }
    std::vector<int> candidates;
    for (int i = 1; i < 20; ++i) {
        candidates.push_back(i);
    }
    CHECK(chosen(text.c_str(), 4, candidates) == "1 2 3 4 one PCIe switch");
    CHECK(chosen(text.c_str(), 5, candidates) == "5 6 7 8 9 one PCIe switch"); // beside the broken group
}

} // namespace topology_test

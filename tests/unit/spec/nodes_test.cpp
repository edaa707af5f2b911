#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

namespace nodes_test {

using namespace dockdist;
using test::load_good;

using Devices = std::vector<std::string>;

TEST_CASE("one node a host bears the host's name, in the file's order") {
    const auto nodes = expand_nodes(load_good("image: a\nhosts: [ssh://h, ssh://i]\n"));
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].name == NodeName("h"));
    CHECK(nodes[1].name == NodeName("i"));
    CHECK(nodes[1].rank == 1);
    CHECK(nodes[1].host == 1);
    CHECK(nodes[1].gpus.kind == GpuSpec::Kind::all);
}

TEST_CASE("several nodes of a host are numbered, and ranks go on over the hosts") {
    const auto nodes = expand_nodes(load_good("image: a\nhosts:\n- {name: a, docker: ssh://h, nodes: 2, "
                                              "gpus: none, slots: 3}\n- {name: b, docker: ssh://i}\n"));
    REQUIRE(nodes.size() == 3);
    CHECK(nodes[0].name == NodeName("a-0"));
    CHECK(nodes[1].name == NodeName("a-1"));
    CHECK(nodes[2].name == NodeName("b"));
    CHECK(nodes[2].rank == 2);
    CHECK(nodes[1].host == 0);
    CHECK(nodes[0].slots == 3);
}

TEST_CASE("a count of GPUs is split evenly; which they are is not the file's matter") {
    const auto nodes = expand_nodes(load_good("image: a\nhosts: [{docker: ssh://h, nodes: 2, gpus: 4}]\n"));
    CHECK(nodes[0].gpus == GpuSpec{.kind = GpuSpec::Kind::count, .count = 2});
    CHECK(nodes[1].gpus == nodes[0].gpus);
}

TEST_CASE("a list of GPUs is cut in its order") {
    const auto nodes =
        expand_nodes(load_good("image: a\nhosts: [{docker: ssh://h, nodes: 2, gpus: [7, GPU-aa, 1, 0]}]\n"));
    CHECK(nodes[0].gpus.devices == Devices{"7", "GPU-aa"});
    CHECK(nodes[1].gpus.devices == Devices{"1", "0"});
}

TEST_CASE("one node keeps its count, and no GPU stays none") {
    const auto nodes = expand_nodes(
        load_good("image: a\nhosts: [{docker: ssh://h, gpus: 4}, {docker: ssh://i, nodes: 2, gpus: 0}]\n"));
    CHECK(nodes[0].gpus == GpuSpec{.kind = GpuSpec::Kind::count, .count = 4});
    CHECK(nodes[1].gpus.kind == GpuSpec::Kind::none);
    CHECK(nodes[2].gpus.kind == GpuSpec::Kind::none);
}

} // namespace nodes_test

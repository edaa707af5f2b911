#include "client/plan/labels.hpp"
#include "cluster_builder.hpp"
#include "shared/core/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace shared_places_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

ContainerConfig config_of(const ClusterSpec& spec, std::size_t index = 0, EngineAbilities engine = {}) {
    const auto nodes = expand_nodes(spec);
    return node_config({.spec = spec, .node = nodes.at(index), .engine = engine}, false);
}

} // namespace

TEST_CASE("every node of an engine shares the volume that says who holds which GPU, and may write there") {
    const Mount shared{.type = Mount::Type::volume,
                       .source = "dockdist-gpus",
                       .target = "/var/lib/dockdist/shared/gpus",
                       .volume_labels = {{"dockdist.role", "gpus"}}};
    auto spec = spec_of(2);
    for (const auto* name : {"vision", "speech"}) {
        spec.name = ClusterName(name);
        const auto mounts = config_of(spec, 1).mounts;
        CHECK(std::ranges::find(mounts, shared) != mounts.end());
    }
}

TEST_CASE(
    "what nodes share stands behind a folder of the node's own that root alone enters, from the beginning") {
    const Mount gate{.type = Mount::Type::tmpfs,
                     .target = "/var/lib/dockdist/shared",
                     .tmpfs_options = "mode=0700,size=64k"};
    auto spec = spec_of(1);
    spec.container.user = "1000:1000";
    const auto config = config_of(spec);
    CHECK(std::ranges::find(config.mounts, gate) != config.mounts.end());
    for (const auto& mount : config.mounts) {
        CHECK((mount.type == Mount::Type::tmpfs || mount.read_only ||
               mount.target.starts_with(gate.target + "/") || mount.target == "/var/lib/dockdist/store"));
    }
}

TEST_CASE("each node has a volume of its own for what its jobs leave, which says whose it is") {
    auto spec = spec_of(2);
    spec.name = ClusterName("vision");
    std::vector<Mount> stores;
    for (const std::size_t node : {std::size_t{0}, std::size_t{1}}) {
        for (const auto& mount : config_of(spec, node).mounts) {
            if (mount.target == "/var/lib/dockdist/store") {
                stores.push_back(mount);
            }
        }
    }
    REQUIRE(stores.size() == 2);
    CHECK(stores[0].source == "dockdist-store-vision_node-0");
    CHECK(stores[1].source == "dockdist-store-vision_node-1");
    CHECK_FALSE(stores[0].read_only);
    CHECK(stores[0].volume_labels.at("dockdist.role") == "store");
    CHECK(stores[0].volume_labels.at("dockdist.cluster") == "vision");
    CHECK(stores[0].volume_labels.at("dockdist.node") == "node-0");
}

TEST_CASE("no two nodes of any clusters share a store, as no name has a '_'") {
    CHECK(labels::store_volume("a-b", "c") != labels::store_volume("a", "b-c"));
    for (const auto* name : {"a_b", "_", "a_"}) {
        CHECK_FALSE(is_plain_name(name));
    }
}

TEST_CASE("a store's labels name no `up`, which would take it back when it fails") {
    const auto labels = labels::store_labels("vision", "node-0", "ada@slurm-job-7:/c.yaml");
    CHECK(labels == Labels{{"dockdist.cluster", "vision"},
                           {"dockdist.node", "node-0"},
                           {"dockdist.role", "store"},
                           {"dockdist.origin", "ada@slurm-job-7:/c.yaml"},
                           {"dockdist.slurm-job", "7"}});
}

TEST_CASE("an engine that can is told that nothing is run of what nodes share") {
    const auto mounts = config_of(spec_of(1), 0, abilities_of({.podman = true})).mounts;
    const auto shared = std::ranges::find(mounts, "dockdist-gpus", &Mount::source);
    REQUIRE(shared != mounts.end());
    CHECK(shared->data_only);
}

} // namespace shared_places_test

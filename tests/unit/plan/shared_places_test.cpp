#include "cluster_builder.hpp"

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
               mount.target.starts_with(gate.target + "/")));
    }
}

TEST_CASE("an engine that can is told that nothing is run of what nodes share") {
    const auto mounts = config_of(spec_of(1), 0, abilities_of({.podman = true})).mounts;
    const auto shared = std::ranges::find(mounts, "dockdist-gpus", &Mount::source);
    REQUIRE(shared != mounts.end());
    CHECK(shared->data_only);
}

} // namespace shared_places_test

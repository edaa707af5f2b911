// Devices that not every host has.
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace create_node_test {

using namespace dockdist;
using namespace dockdist::testing;

TEST_CASE(
    "a host without IMEX channels gets its node without them, whichever missing device its engine names") {
    const std::string create = "create_container dockdist-vision-node-0";
    const auto lacks = [](const std::string& path) {
        return Error{ErrorKind::engine, "", "bind source path does not exist: " + path, ""};
    };
    const std::string imex = "/dev/nvidia-caps-imex-channels/channel0";
    for (const auto& missing :
         {std::vector<std::string>{}, {imex}, {"/dev/infiniband", imex}, {imex, "/dev/infiniband"}}) {
        CAPTURE(missing.size());
        FakeCluster cluster(1);
        auto& engine = *cluster.fakes[0];
        cluster.spec.container.devices_auto = true;
        cluster.spec.hosts[0].gpus = {};
        engine.engine_info.architecture = "aarch64";
        engine.images["train:1"].architecture = "arm64";
        int asked = 0;
        engine.on_call = [&](const std::string& call) {
            if (call == create && static_cast<std::size_t>(asked) < missing.size()) {
                engine.fail(create, lacks(missing[static_cast<std::size_t>(asked++)]));
            }
        };
        CHECK(cluster.up().errors.empty());
        auto left = std::vector<std::string>{"/dev/infiniband", imex};
        for (const auto& path : missing) {
            std::erase(left, path);
        }
        CHECK(engine.container("dockdist-vision-node-0").config.devices == left);
        CHECK_FALSE(cluster.up("a2").changed);
    }
}

} // namespace create_node_test

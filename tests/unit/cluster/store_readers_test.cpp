// What nodes have kept that are not there: found by their volumes' labels, and read beside these.
#include "client/cluster/down.hpp"
#include "client/observe/store_readers.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace store_readers_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

struct DownCluster : FakeCluster {
    explicit DownCluster(int hosts) : FakeCluster(hosts) {
        up();
        run_task(io, down(spec, engines, {}, reporter));
        for (auto* engine : fakes) {
            engine->calls.clear();
        }
    }

    FoundStores find(std::set<NodeName> there = {}) {
        return run_task(io, find_stores(spec, engines, std::vector<bool>(fakes.size(), true), there));
    }

    StoreReaders::Opened open(StoreReaders& readers) {
        const auto seen = run_task(io, observe(spec, engines, toolkits.versions(), reporter));
        return run_task(io, readers.open(spec, engines, seen.cluster, find().stores,
                                         {.toolkits = toolkits, .attempt = "a2", .origin = "eve@box:/c"}));
    }
};

} // namespace

TEST_CASE("stores are known by their labels and their name, each node's once") {
    DownCluster cluster(2);
    cluster.fakes[0]->volumes["stray"] = {.name = "stray",
                                          .labels = cluster.fakes[0]->volumes.begin()->second.labels};
    auto found = cluster.find();
    CHECK(found.errors.empty());
    REQUIRE(found.stores.size() == 2);
    CHECK(found.stores[1].host == 1);
    CHECK(found.stores[1].node == NodeName("node-1"));
    CHECK(found.stores[1].volume == "dockdist-store-vision_node-1");
    found = cluster.find({NodeName("node-1")});
    CHECK(found.stores.size() == 1);
    cluster.fakes[0]->fail("list_volumes", {ErrorKind::timeout, "", "no answer", ""}, -1);
    found = cluster.find();
    CHECK(found.stores.size() == 1);
    REQUIRE(found.errors.size() == 1);
    CHECK(found.errors[0].where == "node-0 (tcp://10.0.0.1)");
}

TEST_CASE("a store is read by a container that can change nothing, reaches nobody and goes") {
    DownCluster cluster(1);
    StoreReaders readers;
    const auto opened = cluster.open(readers);
    CHECK(opened.errors.empty());
    REQUIRE(opened.nodes.size() == 1);
    CHECK(opened.nodes[0].name == NodeName("node-0"));
    auto& engine = *cluster.fakes[0];
    REQUIRE(engine.containers.size() == 1);
    const auto& config = engine.containers.begin()->second.config;
    CHECK(engine.containers.begin()->second.state == ContainerState::running);
    CHECK(config.network_mode == "none");
    CHECK(config.cap_drop == std::vector<std::string>{"ALL"});
    CHECK(config.read_only_root);
    CHECK(std::ranges::all_of(config.mounts, &Mount::read_only));
    CHECK(config.labels.at("dockdist.role") == "look"); // which the next `up` or `down` takes away
    run_task(cluster.io, readers.close(cluster.engines));
    CHECK(engine.containers.empty());
    CHECK(engine.volumes.contains("dockdist-store-vision_node-0"));
}

TEST_CASE("where there is nothing to read with, that is told with the volume") {
    DownCluster cluster(1);
    cluster.fakes[0]->images.clear();
    StoreReaders readers;
    const auto opened = cluster.open(readers);
    CHECK(opened.nodes.empty());
    REQUIRE(opened.errors.size() == 1);
    CHECK(opened.errors[0].message.find("dockdist-store-vision_node-0") != std::string::npos);
    CHECK(opened.errors[0].hint == "`dockdist up` brings both");
    CHECK(cluster.fakes[0]->containers.empty());
}

TEST_CASE("one that does not start is told, and goes like the others") {
    DownCluster cluster(2);
    cluster.fakes[1]->on_call = [&](const std::string& call) {
        if (call.starts_with("start_container dockdist_read_")) {
            cluster.fakes[1]->fail(call, {ErrorKind::engine, "", "no space left on device", ""});
        }
    };
    StoreReaders readers;
    const auto opened = cluster.open(readers);
    CHECK(opened.nodes.size() == 1);
    REQUIRE(opened.errors.size() == 1);
    CHECK(opened.errors[0].where == "node-1 on node-1 (tcp://10.0.0.2)");
    run_task(cluster.io, readers.close(cluster.engines));
    CHECK(cluster.containers().empty());
}

TEST_CASE("the next up gives the node what it had kept") {
    DownCluster cluster(1);
    auto& volume = cluster.fakes[0]->volumes.at("dockdist-store-vision_node-0");
    volume.labels["mark"] = "the same";
    CHECK(cluster.up("a2").errors.empty());
    CHECK(cluster.fakes[0]->volumes.at("dockdist-store-vision_node-0").labels.contains("mark"));
}

TEST_CASE("on Podman, which labels no volume that it makes for a container, it is made before") {
    FakeCluster cluster(1);
    auto& engine = *cluster.fakes[0];
    engine.engine_info.podman = true;
    CHECK(cluster.up().errors.empty());
    CHECK(std::ranges::count(engine.calls, "create_volume dockdist-store-vision_node-0") == 1);
    CHECK(engine.volumes.at("dockdist-store-vision_node-0").labels.at("dockdist.role") == "store");
    FakeCluster docker(1);
    docker.up();
    CHECK(std::ranges::count(docker.fakes[0]->calls, "create_volume dockdist-store-vision_node-0") == 0);
    CHECK(docker.fakes[0]->volumes.at("dockdist-store-vision_node-0").labels.at("dockdist.node") == "node-0");
}

TEST_CASE("a failed up takes back the stores that it made, and none that was there") {
    FakeCluster cluster(2);
    REQUIRE(cluster.up().errors.empty());
    REQUIRE(cluster.stores() == 2);
    run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    cluster.fakes[1]->volumes.erase("dockdist-store-vision_node-1");
    cluster.fakes[1]->fail("start_container", {ErrorKind::engine, "", "no GPU", ""}, -1);
    CHECK_FALSE(cluster.up("a2").errors.empty());
    CHECK(cluster.fakes[0]->volumes.contains("dockdist-store-vision_node-0"));
    CHECK(cluster.stores() == 1);
}

} // namespace store_readers_test

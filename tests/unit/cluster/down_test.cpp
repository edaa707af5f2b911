#include "client/cluster/down.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace down_test {

using namespace dockdist;
using namespace dockdist::testing;

TEST_CASE("down removes what bears the label and nothing else, and is safe to run twice") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->add_container("dockdist-vision-node-9"); // a look-alike
    auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.removed == 2);
    CHECK(result.errors.empty());
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-9"});
    result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.removed == 0);
    CHECK(result.errors.empty());
}

TEST_CASE("down --purge takes dockdist's volumes, too, where no other cluster's nodes use them") {
    FakeCluster cluster(2);
    cluster.up();
    for (auto* engine : cluster.fakes) {
        engine->volumes["somebody-elses"] = {.name = "somebody-elses"};
    }
    for (const auto* shared : {"dockdist-gpus", "dockdist-toolkit-t1"}) {
        cluster.fakes[1]->fail(std::string("remove_volume ") + shared,
                               {ErrorKind::conflict, "", "volume is in use", ""}, -1);
    }
    const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines,
                                                  {.purge = true, .toolkits = {"t1"}}, cluster.reporter));
    CHECK(result.errors.empty());
    CHECK_FALSE(cluster.fakes[0]->volumes.contains("dockdist-gpus"));
    CHECK_FALSE(cluster.fakes[0]->volumes.contains("dockdist-toolkit-t1"));
    CHECK(cluster.fakes[0]->volumes.contains("somebody-elses"));
    CHECK(cluster.fakes[1]->volumes.contains("dockdist-gpus"));
}

TEST_CASE("down names the nodes that left the file with their hosts, and asks while somebody knows") {
    FakeCluster cluster(2);
    cluster.up();
    wire::Members left{.cluster = "vision"};
    left.nodes.push_back({.node = "gpu7", .address = "10.0.0.7", .host = "another"});
    left.nodes.push_back({.node = "node-1", .address = "10.0.0.2"});
    cluster.fakes[1]->on_exec("dockdist-init members", "\n" + wire::members_list(left) + "\n");
    auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.errors.empty());
    CHECK(result.removed == 2);
    CHECK(result.orphans == std::vector<Orphan>{{"gpu7", "10.0.0.7", "dockdist-vision-gpu7"}});
    cluster.up();
    result =
        run_task(cluster.io, down(cluster.spec, cluster.engines, {.some_hosts = true}, cluster.reporter));
    CHECK(result.orphans.empty());
}

TEST_CASE("down goes on when a host does not answer, and names it") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->fail("list_containers", {ErrorKind::timeout, "", "no answer", ""}, -1);
    cluster.fakes[0]->calls.clear();
    const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-0 (tcp://10.0.0.1)");
    CHECK(result.removed == 1);
    CHECK(cluster.fakes[0]->calls.size() == 1); // one deadline, not one after the other
}

TEST_CASE("down removes no cluster that another file made, unless that is meant") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->calls.clear();
    auto result = run_task(cluster.io, down(cluster.spec, cluster.engines,
                                            {.origin = "ops@box:/other/cluster.yaml"}, cluster.reporter));
    REQUIRE(result.errors.size() == 1);
    CHECK(result.removed == 0);
    CHECK(result.errors[0].message ==
          "a cluster named vision is there already, made by ops@box:/cluster.yaml, and not "
          "from this file");
    CHECK(result.errors[0].hint.find("`dockdist down --take-over`") != std::string::npos);
    CHECK(cluster.containers().size() == 2);
    CHECK(cluster.fakes[0]->calls.size() == 1); // it has only looked
    result = run_task(cluster.io, down(cluster.spec, cluster.engines, {.origin = "ops@box:/cluster.yaml"},
                                       cluster.reporter));
    CHECK(result.errors.empty());
    CHECK(result.removed == 2);
}

constexpr const char* store_of_first = "dockdist-store-vision_node-0";

TEST_CASE("what nodes have kept of their jobs stays, and is told: jobs of several nodes once") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->on_exec("job kept", wire::to_text({.bytes = 1000, .jobs = {"a", "b"}}));
    cluster.fakes[1]->on_exec("job kept", wire::to_text({.bytes = 24, .jobs = {"b", "c"}}));
    const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.errors.empty());
    CHECK(result.removed == 2);
    CHECK(result.kept.jobs == 3);
    CHECK(result.kept.size.count == 1024);
    CHECK(cluster.fakes[0]->volumes.contains(store_of_first));
    CHECK(cluster.fakes[1]->volumes.contains("dockdist-store-vision_node-1"));
}

TEST_CASE("a node of an older dockdist says nothing of what it keeps, and is removed all the same") {
    FakeCluster cluster(1);
    cluster.up();
    cluster.fakes[0]->on_exec("job kept", "usage: …", 2);
    const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.errors.empty());
    CHECK(result.removed == 1);
    CHECK(result.kept.jobs == 0);
}

TEST_CASE("of a cluster that is down the volumes are told, and --purge removes them") {
    FakeCluster cluster(2);
    cluster.up();
    const auto purge = [&](DownOptions options) {
        options.purge = true;
        return run_task(cluster.io, down(cluster.spec, cluster.engines, options, cluster.reporter));
    };
    run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    CHECK(result.stores == 2);
    CHECK(result.removed == 0);
    result = purge({.origin = "eve@box:/other.yaml", .toolkits = {"t1"}});
    REQUIRE(result.errors.size() == 2);
    CHECK(result.errors[0].hint.find("`dockdist down --purge --take-over`") != std::string::npos);
    CHECK(cluster.fakes[0]->volumes.contains(store_of_first));
    result = purge({.origin = "ops@box:/cluster.yaml", .toolkits = {"t1"}});
    CHECK(result.errors.empty());
    CHECK(result.purged == 2);
    CHECK_FALSE(cluster.fakes[0]->volumes.contains(store_of_first));
}

TEST_CASE("--purge removes no volume that only looks like a node's store, and names what uses one") {
    FakeCluster cluster(1);
    cluster.up();
    auto& engine = *cluster.fakes[0];
    auto look_alike = engine.volumes.at(store_of_first);
    look_alike.name = "precious";
    engine.volumes["precious"] = look_alike;
    engine.volumes["dockdist-store-vision_node-1"] = {.name = "dockdist-store-vision_node-1"};
    engine.add_container("debug", {.mounts = {{.type = Mount::Type::volume, .source = store_of_first}}});
    const auto result =
        run_task(cluster.io, down(cluster.spec, cluster.engines, {.purge = true}, cluster.reporter));
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].hint.find("a container uses the volume") != std::string::npos);
    CHECK(engine.volumes.contains("precious"));
    CHECK(engine.volumes.contains("dockdist-store-vision_node-1"));
}

} // namespace down_test

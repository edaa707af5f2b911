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
    cluster.fakes[1]->fail("remove_volume", {ErrorKind::conflict, "", "volume is in use", ""}, -1);
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

} // namespace down_test

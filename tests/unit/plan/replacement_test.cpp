#include "client/plan/replacement.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

namespace replacement_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

constexpr const char* name_1 = "dockdist-vision-node-1";
constexpr const char* aside_1 = "dockdist-vision-node-1.replaced";

// Two nodes that are up, and a file that may have changed the second.
struct Cluster {
    ClusterSpec spec = spec_of(2);
    ObservedCluster observed = after_up(spec);

    ObservedNode& node_1() { return observed.hosts[1].nodes.at(0); }
    void change() { spec.hosts[1].env["NVIDIA_DEBUG"] = "INFO"; }
    // The node is there twice: an `up` was making it anew.
    void set_aside(bool new_one_works) {
        auto before = node_1();
        before.id = ContainerId("id-before");
        before.container_name = aside_1;
        observed.hosts[1].aside.push_back(before);
        if (!new_one_works) {
            node_1().record.reset();
        }
    }
    PlanResult plan() const { return make_plan(spec, observed, context()); }
    std::string text() const {
        const auto result = plan();
        REQUIRE(result.errors.empty());
        return to_text(result.plan, spec);
    }
};

const std::string joins = "node-1  start node node-1\n"
                          "node-0  join node node-0 (rank 0 of 2)\n"
                          "node-1  join node node-1 (rank 1 of 2)\n";

} // namespace

TEST_CASE("a node that is made anew keeps its container until then") {
    Cluster cluster;
    cluster.change();
    SUBCASE("it runs") {
        const auto replaces = cluster.plan().plan.creates.at(0).replaces;
        REQUIRE(replaces.has_value());
        CHECK((replaces->id == ContainerId("id-node-1") && replaces->name == name_1 && replaces->runs));
    }
    SUBCASE("it does not") {
        cluster.node_1().state = ContainerState::exited;
        CHECK_FALSE(cluster.plan().plan.creates.at(0).replaces->runs);
    }
    SUBCASE("it is of no use any more") {
        cluster.node_1().state = ContainerState::dead;
        CHECK_FALSE(cluster.plan().plan.creates.at(0).replaces.has_value());
        CHECK(cluster.text().starts_with(
            "node-1  remove container dockdist-vision-node-1  # `env.NVIDIA_DEBUG` changed\n"
            "node-1  create container dockdist-vision-node-1 (train:1, all GPUs)  # `env.NVIDIA_DEBUG` "
            "changed\n"));
    }
}

TEST_CASE("two entries of the file that are one engine show the same nodes, and each is its own entry's") {
    Cluster cluster;
    for (auto* at : {&cluster.observed.hosts[0], &cluster.observed.hosts[1]}) {
        const auto& other = cluster.observed.hosts[at == &cluster.observed.hosts[0] ? 1 : 0];
        at->nodes.push_back(other.nodes.front());
    }
    CHECK(cluster.plan().plan.empty());
    cluster.change();
    const auto plan = cluster.plan().plan;
    CHECK(plan.removals.empty());
    REQUIRE(plan.creates.size() == 1);
    CHECK(plan.creates[0].replaces->id == ContainerId("id-node-1"));
    CHECK(joins_as_it_was(cluster.spec, cluster.observed, plan, {false, false}).size() == 2);
}

TEST_CASE("jobs on it are in the way as before") {
    Cluster cluster;
    cluster.change();
    CHECK(cluster.plan().wanted.jobs);
}

TEST_CASE("set aside, with nothing in its place: it gets its name back, or is replaced") {
    Cluster cluster;
    cluster.node_1().container_name = aside_1;
    CHECK(cluster.text() == "node-1  rename container dockdist-vision-node-1.replaced to "
                            "dockdist-vision-node-1  # an `up` that was interrupted left it\n");
    cluster.change();
    CHECK(cluster.text() == "node-1  replace container dockdist-vision-node-1 (train:1, all GPUs)  # "
                            "`env.NVIDIA_DEBUG` changed\n" +
                                joins);
    CHECK(cluster.plan().plan.creates.at(0).replaces->name == aside_1);
}

TEST_CASE("set aside, and the new one works: it goes") {
    Cluster cluster;
    cluster.set_aside(true);
    CHECK(
        cluster.text() ==
        "node-1  remove container dockdist-vision-node-1.replaced  # an `up` that was interrupted left it\n");
    cluster.change(); // once more: the one that works is kept this time
    CHECK(cluster.text() ==
          "node-1  remove container dockdist-vision-node-1.replaced  # an `up` that was interrupted left it\n"
          "node-1  replace container dockdist-vision-node-1 (train:1, all GPUs)  # `env.NVIDIA_DEBUG` "
          "changed\n" +
              joins);
    CHECK(cluster.plan().plan.creates.at(0).replaces->id == ContainerId("id-node-1"));
}

TEST_CASE(
    "set aside, and the new one has come to nothing: that one is made anew, and the old one is still kept") {
    Cluster cluster;
    cluster.set_aside(false);
    CHECK(cluster.text() ==
          "node-1  remove container dockdist-vision-node-1  # an `up` that was interrupted left it\n"
          "node-1  replace container dockdist-vision-node-1 (train:1, all GPUs)  # an `up` that was "
          "interrupted has not finished it\n" +
              joins);
    CHECK(cluster.plan().plan.creates.at(0).replaces->id == ContainerId("id-before"));
}

TEST_CASE("what is set aside of a node that the file no longer names goes too") {
    Cluster cluster;
    cluster.set_aside(true);
    cluster.spec = spec_of(2);
    cluster.spec.hosts[1].name = HostName("other");
    const auto text = cluster.text();
    CHECK(text.find("remove container dockdist-vision-node-1  # the file does not name it") !=
          std::string::npos);
    CHECK(text.find("remove container dockdist-vision-node-1.replaced  #") != std::string::npos);
}

} // namespace replacement_test

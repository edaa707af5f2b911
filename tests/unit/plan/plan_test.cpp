#include "cluster_builder.hpp"
#include "shared/wire/version.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace plan_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

std::string plan_text(const ClusterSpec& spec, const ObservedCluster& observed) {
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.empty());
    return to_text(result.plan, spec);
}

} // namespace

TEST_CASE("fresh hosts: every node is created, started and joined") {
    const auto spec = spec_of(2);
    CHECK(plan_text(spec, fresh(spec)) ==
          "node-0  create container dockdist-vision-node-0 (train:1, all GPUs)  # not there\n"
          "node-1  create container dockdist-vision-node-1 (train:1, all GPUs)  # not there\n"
          "node-0  start node node-0\n"
          "node-1  start node node-1\n"
          "node-0  join node node-0 (rank 0 of 2)\n"
          "node-1  join node node-1 (rank 1 of 2)\n");
}

TEST_CASE("a host without image and toolkit gets both, the others nothing") {
    const auto spec = spec_of(2);
    auto observed = fresh(spec);
    observed.hosts[1].image.reset();
    observed.hosts[1].toolkits.clear();
    const auto text = plan_text(spec, observed);
    CHECK(text.starts_with("node-1  pull image train:1  # the host lacks it\n"
                           "node-1  upload toolkit  # the host lacks this version\n"));
}

TEST_CASE("nothing changed: nothing to do") {
    const auto spec = spec_of(3);
    CHECK(plan_text(spec, after_up(spec)) == "nothing to do\n");
}

TEST_CASE("one host's configuration changed: that node alone is made anew, and all meet again") {
    const auto spec = spec_of(2);
    const auto observed = after_up(spec);
    auto changed = spec;
    changed.hosts[1].env["NVIDIA_DEBUG"] = "INFO";
    CHECK(
        plan_text(changed, observed) ==
        "node-1  replace container dockdist-vision-node-1 (train:1, all GPUs)  # `env.NVIDIA_DEBUG` changed\n"
        "node-1  start node node-1\n"
        "node-0  join node node-0 (rank 0 of 2)\n"
        "node-1  join node node-1 (rank 1 of 2)\n");
}

TEST_CASE("a stopped node is started again and joined") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    observed.hosts[0].nodes[0].state = ContainerState::exited;
    observed.hosts[0].nodes[0].record.reset();
    CHECK(plan_text(spec, observed) == "node-0  start node node-0  # not running\n"
                                       "node-0  join node node-0 (rank 0 of 2)\n"
                                       "node-1  join node node-1 (rank 1 of 2)\n");
}

TEST_CASE("a node that runs but never joined is joined, not made anew") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    observed.hosts[1].nodes[0].record.reset();
    CHECK(plan_text(spec, observed) == "node-0  join node node-0 (rank 0 of 2)\n"
                                       "node-1  join node node-1 (rank 1 of 2)\n");
}

TEST_CASE("nodes that know different members are joined again") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    observed.hosts[1].nodes[0].members_hash = "another";
    CHECK(plan_text(spec, observed).find("join node node-0") != std::string::npos);
}

TEST_CASE("a line that goes takes nobody else's container, and its own is named") {
    auto spec = spec_of(3);
    auto observed = after_up(spec);
    std::vector<wire::NodeRecord> known;
    for (auto& host : observed.hosts) {
        known.push_back(*host.nodes[0].record);
        known.back().host = "host of " + known.back().node;
    }
    spec.hosts.erase(spec.hosts.begin());
    observed.hosts.erase(observed.hosts.begin());
    CHECK(make_plan(spec, observed, context()).wanted.members);
    observed.known = known;
    CHECK_FALSE(make_plan(spec, observed, context()).wanted.members);
    CHECK(plan_text(spec, observed) ==
          "node-1  join node node-1 (rank 0 of 2)  # its rank changed: 0 instead of 1\n"
          "node-2  join node node-2 (rank 1 of 2)  # its rank changed: 1 instead of 2\n"
          "node-0  leave container dockdist-vision-node-0 at 10.0.0.1  # its host is no longer in the file; "
          "remove it there (`docker rm -f`), or by `dockdist --hosts ADDRESS down`\n");
    observed.known->at(0).host = known[1].host; // on a machine of the file, where it is seen
    CHECK(make_plan(spec, observed, context()).plan.orphans.empty());
    observed.known->at(0) = known[0];
    observed.known->at(0).node = "\033[31m"; // a node's word
    CHECK(make_plan(spec, observed, context()).plan.orphans.empty());
    observed.known->at(0) = known[0];
    observed.known->at(0).address = "example.org; rm -rf /";
    CHECK(make_plan(spec, observed, context()).plan.orphans.empty());
}

TEST_CASE(
    "a node that was called by its host's place is replaced by the one that is called after the machine") {
    const auto before = spec_of(2);
    const auto observed = after_up(before);
    auto spec = before;
    for (auto& host : spec.hosts) {
        host.position_name = host.name.str();
        host.name = HostName("gpu" + host.address.substr(7));
    }
    std::swap(spec.hosts[0].position_name, spec.hosts[1].position_name); // its line has moved meanwhile
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(plan.removals.empty());
    REQUIRE(plan.creates.size() == 2);
    CHECK(plan.creates[0].container_name == "dockdist-vision-gpu1");
    CHECK(plan.creates[0].cause == "it is named after its machine now, and was node-0");
    REQUIRE(plan.creates[1].replaces.has_value());
    CHECK(plan.creates[1].replaces->name == "dockdist-vision-node-1");
    spec.hosts[1].position_name.clear(); // the file names it: that is another node
    CHECK(make_plan(spec, observed, context()).plan.removals.size() == 1);
}

TEST_CASE("a host that left the file loses its node, when it is still among the hosts") {
    auto spec = spec_of(1);
    spec.hosts[0].nodes = 2;
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
    auto observed = after_up(spec);
    spec.hosts[0].nodes = 1;
    const auto text = plan_text(spec, observed);
    CHECK(text.find("remove container dockdist-vision-node-0-1  # the file does not name it") !=
          std::string::npos);
}

TEST_CASE("two hosts of the file are one engine, which tells of both hosts' nodes: each is there once") {
    auto spec = spec_of(2);
    auto observed = after_up(spec);
    auto& here = observed.hosts[0].nodes;
    here.push_back(observed.hosts[1].nodes.at(0));
    observed.hosts[1].nodes = here;
    CHECK(to_text(make_plan(spec, observed, context()).plan, spec) == "nothing to do\n");
    spec.hosts[1].name = HostName("other");
    const auto removals = make_plan(spec, observed, context()).plan.removals;
    REQUIRE(removals.size() == 1);
    CHECK(removals[0].id == ContainerId("id-node-1"));
}

TEST_CASE("what an up that was cut off left of an upload is removed, and the nodes stay as they are") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    observed.hosts[1].others.push_back({.id = ContainerId("id-1"),
                                        .name = "dockdist-vision-upload.a0",
                                        .labels = {{labels::role, "upload"}}});
    observed.hosts[1].others.push_back({.id = ContainerId("id-2"), .name = "dockdist-vision-something"});
    CHECK(plan_text(spec, observed) ==
          "node-1  remove container dockdist-vision-upload.a0  # an `up` that was interrupted left it\n");
}

TEST_CASE("the image of a tag changed: the node is made anew") {
    const auto spec = spec_of(1);
    auto observed = after_up(spec);
    observed.hosts[0].image->id = "sha256:2";
    CHECK(plan_text(spec, observed).find("# the image changed") != std::string::npos);
}

TEST_CASE("a cluster of the same name from another file is not touched") {
    const auto spec = spec_of(1);
    auto observed = after_up(spec);
    observed.hosts[0].nodes[0].labels[labels::origin] = "eve@laptop:/tmp/cluster.yaml";
    observed.hosts[0].nodes[0].labels[labels::spec] = "different";
    auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].kind == ErrorKind::conflict);
    CHECK(result.errors[0].where == "node-0 (tcp://10.0.0.1:2375)");
    CHECK(result.errors[0].message == "a cluster named vision is there already, made by "
                                      "eve@laptop:/tmp/cluster.yaml, and differs from this file");
    CHECK(result.plan.empty());

    auto taking_over = context();
    taking_over.take_over = true;
    CHECK(make_plan(spec, observed, taking_over).errors.empty());
}

TEST_CASE("the same file from another machine finds its cluster and changes nothing") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    for (auto& host : observed.hosts) {
        host.nodes[0].labels[labels::origin] = "ada@desk:/src/cluster.yaml";
    }
    CHECK(plan_text(spec, observed) == "nothing to do\n");
}

TEST_CASE("every host that cannot do what is asked is told of at once") {
    auto spec = spec_of(3);
    spec.hosts[1].cdi = false;
    auto observed = fresh(spec);
    observed.hosts[0].engine.os_type = "windows";
    observed.hosts[1].engine.podman = true;
    observed.hosts[1].engine.version = "5.4.2";
    observed.hosts[2].image->architecture = "arm64";
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 3);
    CHECK(result.errors[0].message == "the engine runs windows containers");
    CHECK(result.errors[1].message == "Podman 5.4.2 ignores GPU requests that are not CDI names");
    CHECK(result.errors[2].message == "the image is for arm64, the host is x86_64");
}

TEST_CASE("pull: never, and the host lacks the image") {
    auto spec = spec_of(1);
    spec.image.pull = ImageSpec::Pull::never;
    auto observed = fresh(spec);
    observed.hosts[0].image.reset();
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message == "the image train:1 is not there");
}

TEST_CASE("a container's labels say whose it is, and hold nothing else") {
    const auto spec = spec_of(1);
    const auto plan = make_plan(spec, fresh(spec), context()).plan;
    const auto& found = plan.creates.at(0).config.labels;
    CHECK(found.at("dockdist.cluster") == "vision");
    CHECK(found.at("dockdist.role") == "node");
    CHECK(found.at("dockdist.node") == "node-0");
    CHECK(found.at("dockdist.rank") == "0");
    CHECK(found.at("dockdist.gpus") == "all");
    CHECK(found.at("dockdist.wire") == std::to_string(wire::version));
    CHECK(found.contains("dockdist.release"));
    CHECK(found.at("dockdist.spec-keys").find("container.shm_size") != std::string::npos);
    CHECK(found.size() == 12);
}

} // namespace plan_test

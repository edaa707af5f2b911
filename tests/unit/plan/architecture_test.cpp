#include "client/plan/architecture.hpp"
#include "unit/plan/cluster_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace architecture_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

void make_arm(ObservedHost& host) {
    host.engine.architecture = "aarch64";
    if (host.image) {
        host.image->architecture = "arm64";
    }
}

std::vector<std::string> toolkit_volumes(const Plan& plan) {
    std::vector<std::string> volumes;
    for (const auto& create : plan.creates) {
        volumes.push_back(create.config.mounts.at(0).source);
    }
    return volumes;
}

} // namespace

TEST_CASE("each host gets the toolkit of its own architecture") {
    const auto spec = spec_of(3);
    auto observed = fresh(spec);
    make_arm(observed.hosts[1]);
    make_arm(observed.hosts[2]);
    observed.hosts[0].toolkits = {"t2"}; // not the one that it needs
    observed.hosts[2].toolkits = {"t1"};
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(toolkit_volumes(plan) ==
          std::vector<std::string>{"dockdist-toolkit-t1", "dockdist-toolkit-t2", "dockdist-toolkit-t2"});
    CHECK(plan.creates[1].config.labels.at(labels::version) == "t2");
    REQUIRE(plan.uploads.size() == 2);
    CHECK(plan.uploads[0].host == 0);
    CHECK(plan.uploads[0].architecture == "amd64");
    CHECK(plan.uploads[1].host == 2);
    CHECK(plan.uploads[1].architecture == "arm64");
    CHECK(plan.uploads[1].config.mounts.at(0).source == "dockdist-toolkit-t2");
}

TEST_CASE("a mixed cluster that stands is left as it is") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    make_arm(observed.hosts[1]);
    const auto anew = make_plan(spec, observed, context());
    REQUIRE(anew.plan.creates.size() == 1); // made when the host was another
    observed.hosts[1].nodes[0].labels = anew.plan.creates[0].config.labels;
    CHECK(make_plan(spec, observed, context()).plan.creates.empty());
}

TEST_CASE("where the image is not there yet, the engine says what containers will be") {
    const auto spec = spec_of(1);
    auto observed = fresh(spec);
    observed.hosts[0].image.reset();
    CHECK(container_architecture(spec.image, observed.hosts[0]) == "amd64");
    observed.hosts[0].engine.architecture = "aarch64";
    CHECK(container_architecture(spec.image, observed.hosts[0]) == "arm64");
}

TEST_CASE("an image of another architecture than its host's is refused, or asked for by image.platform") {
    auto spec = spec_of(1);
    auto observed = fresh(spec);
    observed.hosts[0].image->architecture = "arm64";
    const auto refused = make_plan(spec, observed, context());
    REQUIRE(refused.errors.size() == 1);
    CHECK(refused.plan.empty());
    CHECK(refused.errors[0].kind == ErrorKind::config);
    CHECK(refused.errors[0].where == "node-0 (tcp://10.0.0.1:2375)");
    CHECK(refused.errors[0].message == "the image is for arm64, the host is x86_64");
    CHECK(
        refused.errors[0].hint ==
        "pull an image of the host's architecture there; or, if the host runs such programs (binfmt, QEMU), "
        "say so with `image.platform: linux/arm64`");
    spec.image.platform = "linux/arm64";
    const auto taken = make_plan(spec, observed, context());
    REQUIRE(taken.errors.empty());
    CHECK(toolkit_volumes(taken.plan) == std::vector<std::string>{"dockdist-toolkit-t2"});
    CHECK(taken.plan.creates[0].config.platform == "linux/arm64");
    CHECK(taken.plan.starts[0].upload.config.platform == "linux/arm64");
    CHECK(taken.plan.pulls.empty());
}

TEST_CASE("an image that is there for another platform than the file says is pulled for that") {
    auto spec = spec_of(1);
    spec.image.platform = "linux/arm64/v8";
    auto observed = fresh(spec);
    auto setting = context();
    const auto plan = make_plan(spec, observed, setting).plan;
    REQUIRE(plan.pulls.size() == 1);
    CHECK(plan.pulls[0].cause == "the host has it for amd64");
    CHECK(toolkit_volumes(plan) == std::vector<std::string>{"dockdist-toolkit-t2"});
    // An engine with containerd's image store has both then, and tells of its own architecture's.
    setting.pulled = true;
    const auto pulled = make_plan(spec, observed, setting);
    CHECK(pulled.errors.empty());
    REQUIRE(pulled.plan.creates.size() == 1);
    CHECK(pulled.plan.creates[0].config.platform == "linux/arm64/v8");
    setting.pulled = false;
    spec.image.pull = ImageSpec::Pull::never;
    const auto never = make_plan(spec, observed, setting);
    REQUIRE(never.errors.size() == 1);
    CHECK(never.errors[0].message ==
          "the image train:1 there is for amd64, and `image.platform` asks for linux/arm64/v8");
}

TEST_CASE("an image that is sent is the one that the file names") {
    auto spec = spec_of(1);
    spec.image.from = "local";
    spec.image.platform = "linux/arm64";
    auto observed = fresh(spec);
    auto setting = context();
    setting.source = image();
    const auto other = make_plan(spec, observed, setting);
    REQUIRE(other.errors.size() == 1);
    CHECK(other.errors[0].message == "the image is for amd64, and `image.platform` asks for linux/arm64");
    setting.source->architecture = "arm64";
    setting.source->layers = {"sha256:2"};
    const auto sent = make_plan(spec, observed, setting);
    CHECK(sent.errors.empty());
    CHECK(sent.plan.sends.size() == 1);
}

TEST_CASE("an architecture for which there is no toolkit is refused before anything is made") {
    auto spec = spec_of(2);
    auto observed = fresh(spec);
    observed.hosts[1].engine.architecture = "riscv64";
    observed.hosts[1].image.reset();
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    CHECK(result.plan.empty());
    CHECK(result.errors[0].where == "node-1 (tcp://10.0.0.2:2375)");
    CHECK(result.errors[0].message ==
          "containers there run as riscv64, for which this dockdist has no toolkit");
    CHECK(result.errors[0].hint == "it has amd64, arm64: leave the host out, or name an image of such an "
                                   "architecture with `image.platform`");
    spec.image.platform = "linux/amd64";
    CHECK(make_plan(spec, observed, context()).errors.empty());
}

} // namespace architecture_test

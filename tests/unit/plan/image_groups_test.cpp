#include "client/plan/image_groups.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

namespace image_groups_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

ImageDetails other_image() {
    auto other = image();
    other.id = "sha256:0123456789abcdef0123";
    other.layers = {"sha256:other"};
    other.created = "2026-11-21T16:45:16.682987719Z";
    other.size = Bytes{2 << 20};
    return other;
}

} // namespace

TEST_CASE("hosts whose image differs are told before anything starts: which have which, and what next") {
    const auto spec = spec_of(3);
    auto observed = fresh(spec);
    observed.hosts[1].image = other_image();
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    CHECK(result.plan.empty());
    CHECK(
        to_text(result.errors[0]) ==
        "image train:1: it is not the same on every host: node-0, node-2 have 1 (0 B); node-1 has "
        "0123456789ab (made 2026-11-21 16:45, 2.0 MiB)\n"
        "  bring one host's to all (`dockdist image push --from HOST`), let all pull it again (`image: {ref: "
        "…, pull: always}`), or name it by its digest (REPOSITORY@sha256:…); `dockdist image ls` shows more");
}

TEST_CASE("a cluster that is up and whose image came apart is told, too") {
    const auto spec = spec_of(2);
    auto observed = after_up(spec);
    observed.hosts[1].image = other_image();
    CHECK(make_plan(spec, observed, context()).errors.size() == 1);
}

TEST_CASE("ids may differ: image stores count them in their own ways") {
    const auto spec = spec_of(2);
    auto observed = fresh(spec);
    observed.hosts[1].image->id = "sha256:another";
    CHECK(make_plan(spec, observed, context()).errors.empty());
}

TEST_CASE("images of the same layers that begin differently are not the same one, and it is told in what") {
    const auto spec = spec_of(3);
    auto observed = fresh(spec);
    observed.hosts[1].image->id = "sha256:another";
    observed.hosts[1].image->env.emplace_back("NCCL_DEBUG=INFO");
    observed.hosts[1].image->user = "app";
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message ==
          "it is not the same on every host: node-0, node-2 have 1 (0 B); node-1 has another (0 B; the same "
          "layers, but another environment, user)");
    auto with_source = context();
    with_source.source = image();
    const auto sends = make_plan(spec, observed, with_source).plan.sends;
    REQUIRE(sends.size() == 1);
    CHECK(sends[0].host == 1);
}

TEST_CASE("other architectures have other layers") {
    const auto spec = spec_of(2);
    auto observed = fresh(spec);
    observed.hosts[1].image = other_image();
    observed.hosts[1].image->architecture = "arm64";
    observed.hosts[1].engine.architecture = "aarch64";
    CHECK(make_plan(spec, observed, context()).errors.empty());
}

TEST_CASE("pull: always brings images together that differ, on hosts with nodes too, and only once") {
    auto spec = spec_of(2);
    spec.image.pull = ImageSpec::Pull::always;
    auto observed = after_up(spec);
    observed.hosts[1].image = other_image();
    auto result = make_plan(spec, observed, context());
    CHECK(result.errors.empty());
    CHECK(result.plan.pulls.size() == 2);
    auto after_pull = context();
    after_pull.pulled = true;
    result = make_plan(spec, observed, after_pull);
    CHECK(result.errors.size() == 1); // the registry itself gave different ones
    observed.hosts[1].image = image();
    result = make_plan(spec, observed, after_pull);
    CHECK(result.errors.empty());
    CHECK(result.plan.pulls.empty());
}

TEST_CASE("with `image.from`, what lacks that image or has another is sent it, and nothing is pulled") {
    auto spec = spec_of(3);
    spec.image.from = "local";
    auto observed = fresh(spec);
    observed.hosts[1].image = other_image();
    observed.hosts[2].image.reset();
    auto with_source = context();
    with_source.source = image();
    const auto result = make_plan(spec, observed, with_source);
    CHECK(result.errors.empty());
    CHECK(result.plan.pulls.empty());
    CHECK(to_text(result.plan, spec)
              .starts_with("node-1  send image train:1 from local  # the host has another\n"
                           "node-2  send image train:1 from local  # the host lacks it\n"));
    with_source.pulled = true; // it went there, and is not the same
    CHECK(make_plan(spec, observed, with_source).errors.size() == 1);
}

TEST_CASE("an image of another architecture is not sent") {
    auto spec = spec_of(1);
    spec.image.from = "local";
    auto observed = fresh(spec);
    observed.hosts[0].image.reset();
    auto with_source = context();
    with_source.source = image();
    with_source.source->architecture = "arm64";
    const auto result = make_plan(spec, observed, with_source);
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message == "the image is for arm64, the host is x86_64");
    with_source.source->architecture = ""; // not told
    CHECK(make_plan(spec, observed, with_source).plan.sends.size() == 1);
}

TEST_CASE("an image that is to be built goes from where it is built to all the others") {
    auto spec = spec_of(2);
    spec.image.from = spec.hosts[1].name.str();
    spec.image.build = BuildSpec{.context = "/home/ada/vision"};
    auto observed = fresh(spec);
    observed.hosts[1].image.reset();
    auto before_build = context();
    before_build.build = true;
    const auto result = make_plan(spec, observed, before_build);
    CHECK(result.errors.empty());
    CHECK(result.plan.pulls.empty());
    CHECK(to_text(result.plan, spec)
              .starts_with("node-1  build image train:1 of /home/ada/vision  # it is not there yet\n"
                           "node-0  send image train:1 from node-1  # it is built first\n"));
}

} // namespace image_groups_test

// `up` where the image comes from no registry.
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace up_image_test {

using namespace dockdist;
using namespace dockdist::testing;

TEST_CASE("an image that its source lacks ends up before anything is made") {
    FakeCluster cluster(1);
    FakeEngine source(cluster.io.get_executor(), "source");
    cluster.options.image_source = [&]() -> Task<Result<ImageSource>> {
        co_return co_await find_image_source(source, "this machine", ImageRef("train:1"));
    };
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "this machine");
    CHECK(result.errors[0].message == "the image train:1 is not there");
    CHECK(cluster.fakes[0]->writing_calls().empty());
}

TEST_CASE("where every host has the source's image, nothing is sent") {
    FakeCluster cluster(2);
    FakeEngine source(cluster.io.get_executor(), "source");
    source.add_image("train:1");
    cluster.options.image_source = [&]() -> Task<Result<ImageSource>> {
        co_return co_await find_image_source(source, "this machine", ImageRef("train:1"));
    };
    CHECK(cluster.up().errors.empty());
    CHECK(source.calls == std::vector<std::string>{"inspect_image train:1"});
}

TEST_CASE("an image that cannot be sent leaves no container") {
    FakeCluster cluster(1);
    FakeEngine source(cluster.io.get_executor(), "source");
    source.add_image("train:1");
    cluster.fakes[0]->images.clear();
    cluster.options.image_source = [&]() -> Task<Result<ImageSource>> {
        co_return co_await find_image_source(source, "this machine", ImageRef("train:1"));
    };
    const auto result = cluster.up(); // the toolkit of this test holds no dockdist-init
    REQUIRE(result.errors.size() == 1);
    CHECK(cluster.fakes[0]->containers.empty());
}

} // namespace up_image_test

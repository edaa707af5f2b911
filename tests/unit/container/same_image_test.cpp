#include "client/container/same_image.hpp"

#include <doctest/doctest.h>

namespace same_image_test {

using namespace dockdist;

namespace {

ImageDetails train() {
    return {.id = "sha256:1",
            .layers = {"sha256:a", "sha256:b"},
            .architecture = "amd64",
            .created = "2026-11-21T16:45:16.682987719Z",
            .env = {"PATH=/opt/conda/bin:/usr/bin", "LANG=C.UTF-8"},
            .entrypoint = {"/entry"},
            .command = {"bash"},
            .user = "app",
            .working_dir = "/workspace",
            .size = Bytes{2 << 20}};
}

} // namespace

TEST_CASE("one image is the same in every store, whatever that tells beside it") {
    auto other = train();
    other.id = "sha256:2";
    other.created = "";
    other.size = Bytes{1};
    other.repo_tags = {"train:1"};
    other.env = {"LANG=C.UTF-8", "PATH=/opt/conda/bin:/usr/bin"};
    other.architecture = ""; // a graph driver would tell its host's
    CHECK(same_image(train(), other));
    ImageDetails bare{.layers = {"sha256:a"}};
    auto at_root = bare;
    at_root.working_dir = "/";
    CHECK(same_image(bare, at_root));
}

TEST_CASE("each thing that a container begins with makes another image, and is told by name") {
    const auto differences_of = [](void (*change)(ImageDetails&)) {
        auto other = train();
        change(other);
        CHECK_FALSE(same_image(train(), other));
        CHECK_FALSE(same_image(other, train()));
        const auto found = image_differences(train(), other);
        REQUIRE(found.size() == 1);
        return found[0];
    };
    CHECK(differences_of([](ImageDetails& image) { image.layers.pop_back(); }) == "layers");
    CHECK(differences_of([](ImageDetails& image) { image.architecture = "arm64"; }) == "architecture");
    CHECK(differences_of([](ImageDetails& image) { image.env.pop_back(); }) == "environment");
    CHECK(differences_of([](ImageDetails& image) { image.entrypoint.clear(); }) == "entrypoint");
    CHECK(differences_of([](ImageDetails& image) { image.command = {"sh"}; }) == "command");
    CHECK(differences_of([](ImageDetails& image) { image.user = ""; }) == "user");
    CHECK(differences_of([](ImageDetails& image) { image.working_dir = ""; }) == "working directory");
}

} // namespace same_image_test

#include "image/saved_image.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace saved_image_test {

using namespace dockdist;

namespace {

SavedImage image_of_two_layers() {
    return {.config = {.digest = "sha256:c", .size = 70},
            .layers = {{.digest = "sha256:1", .size = 10}, {.digest = "sha256:z", .size = 5, .gzip = true}}};
}

constexpr const char* config = R"({"rootfs": {"type": "layers", "diff_ids": ["sha256:1", "sha256:2"]}})";

} // namespace

TEST_CASE("manifest.json of docker save names the configuration and the layers") {
    const auto manifest = parse_save_manifest(
        R"([{"Config": "ab.json", "RepoTags": ["x:1"], "Layers": ["1/layer.tar", "2/layer.tar"]}])");
    REQUIRE(manifest.has_value());
    CHECK(manifest->config == "ab.json");
    CHECK(manifest->layers == std::vector<std::string>{"1/layer.tar", "2/layer.tar"});
}

TEST_CASE("what is no manifest.json is refused") {
    for (const char* text : {"", "{}", "[]", "[1]", "[{}]", "[{\"Config\": 1, \"Layers\": []}]",
                             "[{\"Config\": \"a\", \"Layers\": 1}]", "[{\"Config\": \"a\", \"Layers\": [1]}]",
                             "[{\"Config\": \"a\", \"Layers\": []}, {}]"}) {
        CAPTURE(text);
        const auto manifest = parse_save_manifest(text);
        REQUIRE(manifest.has_error());
        CHECK(manifest.error().kind == ErrorKind::protocol);
    }
}

TEST_CASE("layers must be those that the configuration names; compressed ones the engine checks") {
    auto image = image_of_two_layers();
    CHECK(check_layers(image, config).has_value());
    image.layers[0].digest = "sha256:other";
    CHECK(check_layers(image, config).has_error());
    image = image_of_two_layers();
    image.layers.pop_back();
    CHECK(check_layers(image, config).has_error());
    for (const char* text : {"", "{}", "[]", R"({"rootfs": 1})", R"({"rootfs": {"diff_ids": 1}})",
                             R"({"rootfs": {"diff_ids": [1, 2]}})"}) {
        CAPTURE(text);
        CHECK(check_layers(image_of_two_layers(), text).has_error());
    }
}

TEST_CASE("the manifest keeps the configuration, so that the image keeps its id") {
    const auto json = nlohmann::json::parse(image_manifest(image_of_two_layers(), 70));
    CHECK(json["schemaVersion"] == 2);
    CHECK(json["mediaType"] == "application/vnd.docker.distribution.manifest.v2+json");
    CHECK(json["config"]["digest"] == "sha256:c");
    CHECK(json["config"]["size"] == 70);
    CHECK(json["layers"][0]["mediaType"] == "application/vnd.docker.image.rootfs.diff.tar");
    CHECK(json["layers"][1] ==
          nlohmann::json{{"mediaType", "application/vnd.docker.image.rootfs.diff.tar.gzip"},
                         {"digest", "sha256:z"},
                         {"size", 5}});
}

TEST_CASE("a link in the tar leads to a name in the tar, or nowhere") {
    CHECK(resolve_in_tar("a/layer.tar", "../b/layer.tar") == "b/layer.tar");
    CHECK(resolve_in_tar("a/layer.tar", "x") == "a/x");
    CHECK(resolve_in_tar("a", "b") == "b");
    CHECK(resolve_in_tar("a/layer.tar", "../../etc/passwd") == "");
    CHECK(resolve_in_tar("a/layer.tar", "/etc/passwd") == "etc/passwd");
}

} // namespace saved_image_test

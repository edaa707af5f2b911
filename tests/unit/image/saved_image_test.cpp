#include "client/image/saved_image.hpp"

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

TEST_CASE(
    "a layer packed with zstd is left to the engine, and goes under the one name that all engines know") {
    auto image = image_of_two_layers();
    image.layers[1] = {.digest = "sha256:z", .size = 5, .zstd = true};
    CHECK(check_layers(image, config).has_value());
    const auto json = nlohmann::json::parse(image_manifest(image, 70));
    CHECK(json["layers"][1] == nlohmann::json{{"mediaType", "application/vnd.docker.image.rootfs.diff.tar"},
                                              {"digest", "sha256:z"},
                                              {"size", 5}});
    image.layers[1].zstd = false;
    CHECK(check_layers(image, config).has_error());
}

TEST_CASE("a file that is named by a digest has that digest") {
    const SavedBlob blob{.digest = "sha256:12ab"};
    CHECK(check_name("blobs/sha256/12ab", blob).has_value());
    CHECK(check_name("12ab.tar", blob).has_value());
    CHECK(check_name("34cd/layer.tar", blob).has_value());
    const auto other = check_name("blobs/sha256/12ac", blob);
    REQUIRE(other.has_error());
    CHECK(other.error().kind == ErrorKind::protocol);
    CHECK(other.error().message ==
          "what the engine gave as an image is not one: blobs/sha256/12ac in it does not match its name");
}

TEST_CASE("an image of more layers than any engine takes is none") {
    const auto layers = [](std::size_t count) {
        return nlohmann::json::array({{{"Config", "c"}, {"Layers", std::vector<std::string>(count, "l")}}})
            .dump();
    };
    CHECK(parse_save_manifest(layers(1000)).has_value());
    const auto manifest = parse_save_manifest(layers(1001));
    REQUIRE(manifest.has_error());
    CHECK(manifest.error().message.ends_with("it names 1001 layers, and no engine takes more than 1000"));
}

TEST_CASE("a link in the tar leads to a name in the tar, or nowhere") {
    CHECK(resolve_in_tar("a/layer.tar", "../b/layer.tar") == "b/layer.tar");
    CHECK(resolve_in_tar("a/layer.tar", "x") == "a/x");
    CHECK(resolve_in_tar("a", "b") == "b");
    CHECK(resolve_in_tar("a/layer.tar", "../../etc/passwd") == "");
    CHECK(resolve_in_tar("a/layer.tar", "/etc/passwd") == "etc/passwd");
}

} // namespace saved_image_test

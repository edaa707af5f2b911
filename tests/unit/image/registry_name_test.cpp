#include "client/image/registry_name.hpp"

#include <doctest/doctest.h>

namespace registry_name_test {

using namespace dockdist;

TEST_CASE("the registry of a reference is what docker takes it for") {
    const auto of = [](const char* ref) { return registry_of(ImageRef(ref)); };
    CHECK(of("ubuntu") == "docker.io");
    CHECK(of("ubuntu:22.04") == "docker.io");
    CHECK(of("pytorch/pytorch:2.6.0") == "docker.io");
    CHECK(of("docker.io/library/ubuntu") == "docker.io");
    CHECK(of("index.docker.io/library/ubuntu") == "docker.io");
    CHECK(of("registry-1.docker.io/library/ubuntu") == "docker.io");
    CHECK(of("ghcr.io/a/b@sha256:00") == "ghcr.io");
    CHECK(of("10.0.0.1:5000/a") == "10.0.0.1:5000");
    CHECK(of("registry:5000/a/b:c") == "registry:5000");
    CHECK(of("localhost/a") == "localhost");
    CHECK(of("") == "docker.io");
}

TEST_CASE("a full name has the registry and the tag that a short one stands for") {
    const auto of = [](const char* ref) { return full_name(ImageRef(ref)); };
    CHECK(of("train") == "docker.io/library/train:latest");
    CHECK(of("train:1") == "docker.io/library/train:1");
    CHECK(of("team/train:1") == "docker.io/team/train:1");
    CHECK(of("localhost/train:1") == "localhost/train:1");
    CHECK(of("registry:5000/a/b") == "registry:5000/a/b:latest");
    CHECK(of("ghcr.io/a/b:c") == "ghcr.io/a/b:c");
}

TEST_CASE("Docker Hub has a name of its own in config.json, the others have theirs") {
    CHECK(credentials_key("docker.io") == "https://index.docker.io/v1/");
    CHECK(credentials_key("ghcr.io") == "ghcr.io");
}

TEST_CASE("every form of a key names its registry") {
    CHECK(registry_of_key("https://index.docker.io/v1/") == "docker.io");
    CHECK(registry_of_key("docker.io") == "docker.io");
    CHECK(registry_of_key("https://ghcr.io/v2/") == "ghcr.io");
    CHECK(registry_of_key("http://10.0.0.1:5000") == "10.0.0.1:5000");
    CHECK(registry_of_key("") == "");
}

} // namespace registry_name_test

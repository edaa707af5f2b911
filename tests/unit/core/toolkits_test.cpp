#include "shared/core/toolkits.hpp"

#include <doctest/doctest.h>

namespace toolkits_test {

using namespace dockdist;

TEST_CASE("a toolkit is found by the architecture of a container") {
    const Toolkits both(
        {{.architecture = "amd64", .version = "t1"}, {.architecture = "arm64", .version = "t2"}});
    REQUIRE(both.of("arm64") != nullptr);
    CHECK(both.of("arm64")->version == "t2");
    CHECK(both.of("riscv64") == nullptr);
    CHECK(both.of("") == nullptr);
    CHECK(both.architectures() == "amd64, arm64");
}

TEST_CASE("what uname says of a machine, in the words of images") {
    CHECK(go_architecture("x86_64") == "amd64");
    CHECK(go_architecture("aarch64") == "arm64");
    CHECK(go_architecture("arm64") == "arm64"); // as Podman says it
    CHECK(go_architecture("riscv64") == "riscv64");
}

} // namespace toolkits_test

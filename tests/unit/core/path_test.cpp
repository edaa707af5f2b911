#include "shared/core/path.hpp"

#include <doctest/doctest.h>

namespace path_test {

using namespace dockdist;

TEST_CASE("a normal path has nothing that leads nowhere") {
    CHECK(normal_path("/a//b/./c/../d/") == "/a/b/d");
    CHECK(normal_path("/..") == "/");
    CHECK(normal_path("/") == "/");
    CHECK(normal_path("//a/") == "/a");
}

TEST_CASE("a folder holds itself and what is below it, and nothing that only begins so") {
    CHECK(is_in_folder("/a", "/a"));
    CHECK(is_in_folder("/a/b", "/a"));
    CHECK_FALSE(is_in_folder("/ab", "/a"));
    CHECK_FALSE(is_in_folder("/", "/a"));
    CHECK_FALSE(is_in_folder("", "/a"));
}

} // namespace path_test

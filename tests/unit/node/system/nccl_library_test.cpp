#include "node/system/nccl_library.hpp"

#include <doctest/doctest.h>

namespace nccl_library_test {

using namespace dockdist::node;

TEST_CASE("NCCL's version stands in its file's name") {
    CHECK(version_in_name("/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5") == "2.21.5");
    CHECK_FALSE(version_in_name("/opt/lib/libnccl.so.2").has_value());
    CHECK_FALSE(version_in_name("/opt/lib/libnccl.so.2.21.5-test").has_value());
    CHECK_FALSE(version_in_name("/opt/lib/libcuda.so.1").has_value());
}

TEST_CASE("and in the name of its package for Python") {
    CHECK(version_of_package("nvidia_nccl_cu12-2.21.5.dist-info") == "2.21.5");
    CHECK_FALSE(version_of_package("nvidia_nccl_cu12-2.21.5b1.dist-info").has_value());
    CHECK_FALSE(version_of_package("nvidia_nccl_cu12.dist-info").has_value());
    CHECK_FALSE(version_of_package("torch-2.5.1.dist-info").has_value());
    CHECK(is_older("2.9.9", "2.21.5"));
    CHECK_FALSE(is_older("2.21.5", "2.21.5"));
    CHECK(is_older("2.21", "2.21.5"));
}

} // namespace nccl_library_test

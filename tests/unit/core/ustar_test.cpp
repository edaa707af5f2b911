#include "shared/core/ustar.hpp"

#include <doctest/doctest.h>

namespace ustar_test {

using namespace dockdist;

namespace {

std::string size_field(std::int64_t size) {
    return ustar_header({.name = "a", .size = size}).substr(124, 12);
}

} // namespace

TEST_CASE("a size is told in octal digits, and one of 8 GiB or more in bytes, as GNU tar does") {
    constexpr std::int64_t limit = 8LL << 30;
    CHECK(size_field(1000) == std::string("00000001750\0", 12));
    CHECK(size_field(limit - 1) == std::string("77777777777\0", 12));
    CHECK(size_field(limit) == std::string("\x80\0\0\0\0\0\0\x02\0\0\0\0", 12));
}

} // namespace ustar_test

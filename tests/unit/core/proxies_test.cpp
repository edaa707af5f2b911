#include "shared/core/proxies.hpp"

#include <doctest/doctest.h>

namespace proxies_test {

using namespace dockdist;

TEST_CASE("a list of NO_PROXY gets what it lacks, and keeps what it has as it stands") {
    CHECK(with_names("", {"a", "b", "a", ""}) == "a,b");
    CHECK(with_names("a, .example.org", {"a", "b"}) == "a, .example.org,b");
    CHECK(with_names("*", {"a"}) == "*");
    CHECK(with_names("a", {}) == "a");
    CHECK(in_capitals("no_proxy") == "NO_PROXY");
}

} // namespace proxies_test

#include "node/system/routes.hpp"

#include <doctest/doctest.h>

namespace routes_test {

using namespace dockdist::node;

TEST_CASE("the kernel says which interface leads to an address, question after question") {
    Routes routes;
    CHECK(routes.interface_to("127.0.0.1", "127.0.0.2") == "lo");
    CHECK(routes.interface_to("127.0.0.1", "fd00::1").empty()); // not of one family
    CHECK(routes.interface_to("127.0.0.1", "node-1").empty());
    CHECK(routes.interface_to("203.0.113.77", "127.0.0.1").empty()); // nobody's address here
    CHECK(routes.interface_to("127.0.0.1", "127.0.0.3") == "lo");
}

} // namespace routes_test

#include "node/system/resolver.hpp"

#include <doctest/doctest.h>

namespace resolver_test {

using namespace dockdist::node;

TEST_CASE("addresses of getent, each once, in the resolver's order") {
    CHECK(parse_ahosts("127.0.1.1       STREAM node-0\n127.0.1.1       DGRAM\n127.0.1.1       RAW\n"
                       "10.0.0.1        STREAM\n10.0.0.1        DGRAM\n") ==
          std::vector<std::string>{"127.0.1.1", "10.0.0.1"});
    CHECK(parse_ahosts("fd00::1\tSTREAM x\n") == std::vector<std::string>{"fd00::1"});
    CHECK(parse_ahosts("").empty());
}

} // namespace resolver_test

#include "shared/core/loopback.hpp"

#include <doctest/doctest.h>

namespace loopback_test {

using namespace dockdist;

TEST_CASE("addresses and names that never leave the machine") {
    for (const auto* host : {"127.0.0.1", "127.9.9.9", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1",
                             "::ffff:127.0.0.1", "::ffff:7f01:203", "localhost", "LocalHost", "localhost.",
                             "x.localhost", "a.b.LOCALHOST", "x.localhost."}) {
        CAPTURE(host);
        CHECK(is_loopback(host));
    }
}

TEST_CASE("what only looks like them") {
    for (const auto* host :
         {"", ".", "10.0.0.1", "128.0.0.1", "0.0.0.0", "::", "::2", "::ffff:10.0.0.1", "::127.0.0.1", "127.1",
          "127.evil.example", "localhost.evil.example", "notlocalhost", "localhost..", "node-0"}) {
        CAPTURE(host);
        CHECK_FALSE(is_loopback(host));
    }
}

} // namespace loopback_test

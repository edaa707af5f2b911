#include "node/session/host_name.hpp"

#include <doctest/doctest.h>

namespace host_name_test {

using namespace dockdist::node;

TEST_CASE("the address that peers use comes first, whatever the kernel lists before it") {
    CHECK(all_addresses("10.0.0.1", {{"lo", "127.0.0.1", true},
                                     {"docker0", "172.17.0.1", false},
                                     {"eth0", "10.0.0.1", false},
                                     {"eth0", "fe80::1", false},
                                     {"eth1", "192.168.0.1", false}}) == "10.0.0.1 172.17.0.1 192.168.0.1 ");
}

TEST_CASE("other calls are left to the image's own") {
    CHECK_FALSE(run_hostname({}).has_value());
    CHECK_FALSE(run_hostname({"-f"}).has_value());
    CHECK_FALSE(run_hostname({"-I", "-f"}).has_value());
}

} // namespace host_name_test

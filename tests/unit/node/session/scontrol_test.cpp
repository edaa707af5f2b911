#include "node/session/scontrol.hpp"

#include <doctest/doctest.h>

namespace scontrol_test {

using dockdist::node::expand_hostlist;
using Names = std::vector<std::string>;

TEST_CASE("host lists are expanded as scontrol does") {
    CHECK(*expand_hostlist("node-0") == Names{"node-0"});
    CHECK(*expand_hostlist("a,b") == Names{"a", "b"});
    CHECK(*expand_hostlist("node-[0-2,7],x") == Names{"node-0", "node-1", "node-2", "node-7", "x"});
    CHECK(*expand_hostlist("n[08-10]") == Names{"n08", "n09", "n10"});
    CHECK(*expand_hostlist("r[0-1]n[1-2].net") == Names{"r0n1.net", "r0n2.net", "r1n1.net", "r1n2.net"});
}

TEST_CASE("what is no host list, or one without an end, is refused") {
    for (const auto* list : {"", "a,,b", "a,", "a[", "a[]", "a[1", "a[1-]", "a[2-1]", "a[x]", "a[-1]",
                             "a[0-99999999]", "a[0-999]b[0-999]", "a[99999999999999999999]"}) {
        CAPTURE(list);
        CHECK_FALSE(expand_hostlist(list).has_value());
    }
}

} // namespace scontrol_test

#include "core/host_list.hpp"

#include <doctest/doctest.h>

namespace host_list_test {

using namespace dockdist;
using Names = std::vector<std::string>;

TEST_CASE("host lists are expanded as scontrol does") {
    CHECK(*expand_host_list("node-0") == Names{"node-0"});
    CHECK(*expand_host_list("a,b") == Names{"a", "b"});
    CHECK(*expand_host_list("node-[0-2,7],x") == Names{"node-0", "node-1", "node-2", "node-7", "x"});
    CHECK(*expand_host_list("n[08-10]") == Names{"n08", "n09", "n10"});
    CHECK(*expand_host_list("r[0-1]n[1-2].net") == Names{"r0n1.net", "r0n2.net", "r1n1.net", "r1n2.net"});
}

TEST_CASE("what is no host list, or one without an end, is refused") {
    for (const auto* list : {"", "a,,b", "a,", "a[", "a[]", "a[1", "a[1-]", "a[2-1]", "a[x]", "a[-1]",
                             "a[0-99999999]", "a[0-999]b[0-999]", "a[99999999999999999999]"}) {
        CAPTURE(list);
        CHECK_FALSE(expand_host_list(list).has_value());
    }
}

TEST_CASE("names become the list that Slurm prints") {
    const auto listed = [](const Names& names) { return host_list(names); };
    CHECK(listed({}).empty());
    CHECK(listed({"node-0"}) == "node-0");
    CHECK(listed({"node-0", "node-1"}) == "node-[0-1]");
    CHECK(listed({"node-0", "node-1", "node-3", "node-7", "node-8"}) == "node-[0-1,3,7-8]");
    CHECK(listed({"a", "b", "b1"}) == "a,b,b1");
    CHECK(listed({"n08", "n09", "n10"}) == "n[08-10]");
    CHECK(listed({"n9", "n10"}) == "n[9-10]");
    CHECK(listed({"10.0.0.1", "10.0.0.2"}) == "10.0.0.[1-2]");
}

TEST_CASE("what was made a list is the same names in the same order again") {
    for (const auto& names :
         {Names{"node-2", "node-1", "node-0"}, Names{"n1", "n1"}, Names{"n1", "n02", "n3"},
          Names{"n099", "n100"}, Names{"n99", "n100"}, Names{"a-1", "a-2-x", "a-3"},
          Names{"n9999999999", "n10000000000"}, Names{"1", "2", "x"}, Names{"n0", "n00", "n000"}}) {
        const auto list = host_list(names);
        CAPTURE(list);
        const auto again = expand_host_list(list);
        REQUIRE(again.has_value());
        CHECK(*again == names);
    }
}

} // namespace host_list_test

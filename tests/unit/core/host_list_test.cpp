#include "shared/core/host_list.hpp"

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

TEST_CASE("steps, several dimensions and an IPv6 address in brackets") {
    CHECK(*expand_host_list("n[0-8/4]") == Names{"n0", "n4", "n8"});
    CHECK(*expand_host_list("n[00-05/2,9]") == Names{"n00", "n02", "n04", "n9"});
    const auto addresses = *expand_host_list("10.0.[0-3].[1-254]");
    REQUIRE(addresses.size() == 1016);
    CHECK(addresses.front() == "10.0.0.1");
    CHECK(addresses.back() == "10.0.3.254");
    CHECK(*expand_host_list("tcp://[fd00::1]:2375") == Names{"tcp://[fd00::1]:2375"});
    CHECK_FALSE(has_range("tcp://[fd00::1]:2375"));
    CHECK(has_range("tcp://[fd00::1]:237[5-6]"));
    CHECK(has_range("gpu["));
    CHECK_FALSE(has_range("gpu1"));
}

TEST_CASE("why something is no host list") {
    const auto why = [](std::string_view list) { return read_host_list(list).error().message; };
    CHECK(why("a[2-1]") == "`2-1` counts down");
    CHECK(why("a[x]") == "`[x]` is not a range of numbers");
    CHECK(why("a[1-9/0]") == "`[1-9/0]` is not a range of numbers");
    CHECK(why("a[1") == "the bracket in `[1` is not closed");
    CHECK(why("a,,b") == "a name is missing between two commas");
    CHECK(why("n[0-100000]") == "it stands for more than 100000 hosts");
    CHECK(why("n[0-999][0-999]") == "it stands for more than 100000 hosts");
    CHECK(read_host_list("n[1-100000]")->size() == 100'000);
}

TEST_CASE("a list of many names fits a line") {
    Names names;
    for (int i = 0; i < 10'000; ++i) {
        names.push_back("node-" + std::to_string(i));
    }
    CHECK(short_host_list(names, 20) == "node-[0-9999]");
    CHECK(list_names(names) == "node-[0-9999]");
    Names odd;
    for (int i = 1; i < 10'000; i += 2) {
        odd.push_back("node-" + std::to_string(i));
    }
    CHECK(short_host_list(odd, 40) == "node-[1,3,5,7,9,11,13,15], … 4992 more");
    CHECK(short_host_list(Names{"a-long-name-1x", "b"}, 4) == "a-long-name-1x, … 1 more");
    CHECK(list_names(Names{"b", "a", "c"}) == "b, a, c");
    CHECK(list_names(Names{}).empty());
    CHECK(first_names(Names{"b", "a", "c"}, 3) == "b, a, c");
    CHECK(first_names(names, 2) == "node-0, node-1 and 9998 more");
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

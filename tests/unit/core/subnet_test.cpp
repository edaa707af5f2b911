#include "shared/core/subnet.hpp"

#include <doctest/doctest.h>

namespace subnet_test {

using namespace dockdist;

namespace {

std::string read(const std::string& text) {
    const auto subnet = read_subnet(text);
    return subnet ? to_text(*subnet) : "none";
}

std::string narrowest(const std::vector<std::string>& addresses) {
    const auto subnet = narrowest_subnet(addresses);
    return subnet ? to_text(*subnet) : "none";
}

} // namespace

TEST_CASE("a network is told without what of the address is behind its bits") {
    CHECK(read("10.1.0.0/16") == "10.1.0.0/16");
    CHECK(read("10.1.255.7/12") == "10.0.0.0/12");
    CHECK(read("10.1.2.3/32") == "10.1.2.3/32");
    CHECK(read("10.1.2.3/0") == "0.0.0.0/0");
    CHECK(read("fd00:1:0::7/64") == "fd00:1::/64");
    CHECK(read("fd00:1::ff/121") == "fd00:1::80/121");
    CHECK(read("::1/128") == "::1/128");
    for (const auto* text : {"", "10.1.0.0", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/16 ",
                             "10.1/16", "fd00::/129", "eth0/16", "/16", "10.1.0.0/1/6"}) {
        CAPTURE(text);
        CHECK(read(text) == "none");
    }
}

TEST_CASE("which addresses a network holds") {
    const auto ten = *read_subnet("10.1.0.0/17");
    CHECK(holds(ten, "10.1.127.255"));
    CHECK_FALSE(holds(ten, "10.1.128.0"));
    CHECK_FALSE(holds(ten, "fd00::1"));
    CHECK_FALSE(holds(ten, "node-0"));
    const auto unique_local = *read_subnet("fd00:1::/63");
    CHECK(holds(unique_local, "fd00:1:0:1::5"));
    CHECK_FALSE(holds(unique_local, "fd00:1:0:2::5"));
    CHECK_FALSE(holds(*read_subnet("::/0"), "10.1.0.1")); // another family's
    CHECK(any_holds({"nonsense", "10.9.0.0/16", "10.1.0.0/16"}, "10.1.0.1"));
    CHECK_FALSE(any_holds({}, "10.1.0.1"));
}

TEST_CASE("the narrowest network of some addresses") {
    CHECK(narrowest({"10.0.0.1", "10.0.0.2"}) == "10.0.0.0/30");
    CHECK(narrowest({"100.101.1.2", "100.72.3.4"}) == "100.64.0.0/10");
    CHECK(narrowest({"10.0.0.7"}) == "10.0.0.7/32");
    CHECK(narrowest({"fd00::1", "fd00::2", "fd00::9"}) == "fd00::/124");
    CHECK(narrowest({"10.0.0.1", "200.0.0.1"}) == "0.0.0.0/0");
    CHECK(narrowest({"10.0.0.1", "fd00::1"}) == "none");
    CHECK(narrowest({"10.0.0.1", "gpu1"}) == "none");
    CHECK(narrowest({}) == "none");
}

TEST_CASE("one address in two writings") {
    CHECK(is_same_address("fd00::1", "FD00:0:0::1"));
    CHECK_FALSE(is_same_address("fd00::1", "fd00::2"));
    CHECK_FALSE(is_same_address("gpu1", "gpu1"));
}

} // namespace subnet_test

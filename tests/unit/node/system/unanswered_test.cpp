#include "node/system/unanswered.hpp"

#include <doctest/doctest.h>

namespace unanswered_test {

using namespace dockdist::node;
using Addresses = std::vector<std::string>;

namespace {

const std::string header =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";

std::string row(const std::string& remote, const std::string& state, const std::string& again) {
    return "   0: 0100000A:C350 " + remote + " " + state + " 00000400:00000000 01:00000A2C " + again +
           "     0        0 4711 3 0000000000000000 20 4 30 10 -1\n";
}

} // namespace

TEST_CASE("who does not answer is read from the kernel's table, each once, in either family") {
    CHECK(unanswered_in(header + row("0200000A:1F90", "01", "00000005") +
                        row("0200000A:1F91", "01", "00000009") + row("0300000A:1F90", "01", "0000000F")) ==
          Addresses{"10.0.0.2", "10.0.0.3"});
    CHECK(unanswered_in(row("000000FD000000000000000002000000:1F90", "01", "00000006")) ==
          Addresses{"fd00::2"});
    CHECK(unanswered_in(row("0000000000000000FFFF00000200000A:1F90", "01", "00000006")) ==
          Addresses{"10.0.0.2"});
}

TEST_CASE(
    "a packet that is sent again now and then, a connection that is not there yet or no more, and nonsense") {
    CHECK(unanswered_in(row("0200000A:1F90", "01", "00000004")).empty());
    CHECK(unanswered_in(row("0200000A:1F90", "02", "00000006")).empty());
    CHECK(unanswered_in(row("0200000A:1F90", "06", "00000006")).empty());
    CHECK(unanswered_in(row("0200:1F90", "01", "00000006")).empty());
    CHECK(unanswered_in(row("nonsense:1F90", "01", "00000006")).empty());
    CHECK(unanswered_in(row("0200000A:1F90", "01", "often")).empty());
    CHECK(unanswered_in("\n\n 0: a b").empty());
}

} // namespace unanswered_test

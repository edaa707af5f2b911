#include "node/system/hearers.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace hearers_test {

using namespace dockdist::node;
using Kind = Hearer::Kind;
using Pids = std::set<pid_t>;

namespace {

constexpr std::uint64_t bit(int signal) {
    return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

} // namespace

TEST_CASE("who has nobody above is told, and nobody below it until it is gone") {
    CHECK(select_hearers({{.pid = 20, .parent = 1}, {.pid = 21, .parent = 20}, {.pid = 22, .parent = 21}},
                         SIGTERM) == Pids{20});
    CHECK(select_hearers({{.pid = 21, .parent = 1}, {.pid = 22, .parent = 21}, {.pid = 30, .parent = 9}},
                         SIGTERM) == Pids{21, 30});
}

TEST_CASE("who does not hear the signal hands nothing on") {
    const std::vector<Hearer> members{{.pid = 20, .parent = 1, .ignored = bit(SIGTERM)},
                                      {.pid = 21, .parent = 20, .ignored = bit(SIGTERM)},
                                      {.pid = 22, .parent = 21},
                                      {.pid = 23, .parent = 22}};
    CHECK(select_hearers(members, SIGTERM) == Pids{20, 21, 22});
    CHECK(select_hearers(members, SIGINT) == Pids{20});
}

TEST_CASE("what hangs on one that is not told is not told either") {
    CHECK(select_hearers({{.pid = 20, .parent = 1},
                          {.pid = 21, .parent = 20, .ignored = bit(SIGTERM)},
                          {.pid = 22, .parent = 21}},
                         SIGTERM) == Pids{20});
}

TEST_CASE("a shell with a trap comes to it when what it waits for is gone") {
    const auto shell = [](std::uint64_t caught) {
        return std::vector<Hearer>{{.pid = 20, .parent = 1, .kind = Kind::shell, .caught = caught},
                                   {.pid = 21, .parent = 20},
                                   {.pid = 22, .parent = 20, .ignored = bit(SIGINT) | bit(SIGQUIT)}, // "&"
                                   {.pid = 23, .parent = 21}};
    };
    CHECK(select_hearers(shell(bit(SIGTERM)), SIGTERM) == Pids{20, 21});
    CHECK(select_hearers(shell(0), SIGTERM) == Pids{20}); // it ends at once
}

TEST_CASE("gates are always told, and what is below them by nobody else") {
    const std::vector<Hearer> members{{.pid = 20, .parent = 1},                       // a launcher
                                      {.pid = 21, .parent = 20, .kind = Kind::gate},  // a rank's shim
                                      {.pid = 22, .parent = 21},                      // the rank
                                      {.pid = 23, .parent = 22},                      // its workers
                                      {.pid = 40, .parent = 1, .kind = Kind::passer}, // a session
                                      {.pid = 41, .parent = 40},                      // what it runs
                                      {.pid = 42, .parent = 40, .kind = Kind::gate},
                                      {.pid = 43, .parent = 42}};
    CHECK(select_hearers(members, SIGTERM) == Pids{20, 21, 40, 41, 42});
    CHECK(below_gates(members) == Pids{22, 23, 43});
}

TEST_CASE("however deep they stand, each is looked at once") {
    std::vector<Hearer> members;
    for (pid_t pid = 2; pid < 100'000; ++pid) {
        members.push_back({.pid = pid, .parent = pid - 1, .ignored = bit(SIGTERM)});
    }
    CHECK(select_hearers(members, SIGTERM).size() == members.size());
    members.front().kind = Kind::gate;
    CHECK(below_gates(members).size() == members.size() - 1);
}

TEST_CASE("sets of signals are read as the kernel writes them") {
    constexpr std::string_view status =
        "Name:\tpython3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000001001000\n"
        "SigCgt:\t0000000000000002\n";
    CHECK(signal_set(status, "SigIgn") == 0x1001000);
    CHECK(signal_set(status, "SigCgt") == bit(SIGINT));
    CHECK(signal_set(status, "SigPnd") == 0);
    CHECK(signal_set("SigIgn:\t", "SigIgn") == 0);
}

} // namespace hearers_test

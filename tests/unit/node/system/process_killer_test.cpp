#include "node/system/process_killer.hpp"

#include <doctest/doctest.h>

namespace process_killer_test {

using namespace dockdist::node;
using Pids = std::vector<pid_t>;

namespace {

constexpr pid_t self = 10;
constexpr pid_t own_session = 10;

Pids select(const std::vector<ProcessEntry>& all, const ProcessScope& scope = {.mark = "j"}) {
    return select_processes(all, scope, self, own_session);
}

} // namespace

TEST_CASE("processes with the mark belong, others do not") {
    CHECK(select({{.pid = 20, .parent = 1, .session = 20, .mark = "j"},
                  {.pid = 21, .parent = 1, .session = 21}}) == Pids{20});
}

TEST_CASE("a child that dropped the mark belongs to its parent's job") {
    CHECK(select({{.pid = 21, .parent = 20, .session = 21},
                  {.pid = 20, .parent = 1, .session = 20, .mark = "j"},
                  {.pid = 22, .parent = 21, .session = 22}}) == Pids{20, 21, 22});
}

TEST_CASE("an orphan that dropped the mark belongs by its session") {
    CHECK(select({{.pid = 20, .parent = 1, .session = 20, .mark = "j"},
                  {.pid = 30, .parent = 1, .session = 20}}) == Pids{20, 30});
}

TEST_CASE("descendants of the supervisor belong, the supervisor does not") {
    CHECK(select({{.pid = self, .parent = 1, .session = own_session},
                  {.pid = 20, .parent = self, .session = 20}},
                 {.mark = "j", .root = self}) == Pids{20});
}

TEST_CASE("what a process says of itself sets it free of nothing") {
    CHECK(select({{.pid = 20, .parent = 1, .session = 20, .mark = "j"},
                  {.pid = 21, .parent = 20, .session = 20, .mark = "k"},
                  {.pid = 22, .parent = 20, .session = 22, .mark = ":helper"},
                  {.pid = 23, .parent = 1, .session = 23, .mark = "k"}}) == Pids{20, 21, 22});
}

TEST_CASE("thousands below each other are found in one go, in whatever order they stand") {
    std::vector<ProcessEntry> all;
    for (pid_t pid = 60000; pid > 20; --pid) {
        all.push_back({.pid = pid, .parent = pid == 60000 ? self : pid + 1, .session = pid});
    }
    CHECK(select(all, {.mark = "j", .root = self}).size() == all.size());
}

TEST_CASE("the caller's own session and the first process's are nobody's job") {
    CHECK(select({{.pid = 1, .parent = 0, .session = 1, .mark = "j"},
                  {.pid = self, .parent = 5, .session = own_session, .mark = "j"},
                  {.pid = 11, .parent = 5, .session = own_session},
                  {.pid = 20, .parent = 1, .session = own_session, .mark = "j"}}) == Pids{20});
}

TEST_CASE("zombies are gone already, their children are not") {
    CHECK(select({{.pid = 20, .parent = self, .session = 20, .zombie = true},
                  {.pid = 21, .parent = 20, .session = 20}},
                 {.mark = "j", .root = self}) == Pids{21});
}

TEST_CASE("no mark at all selects by descent only") {
    CHECK(select({{.pid = 20, .parent = 1, .session = 20},
                  {.pid = 21, .parent = self, .session = 21, .mark = "j"},
                  {.pid = 22, .parent = 1, .session = 21}},
                 {.mark = "", .root = self}) == Pids{21});
}

TEST_CASE("who is spared never belongs, and its children hang on nobody") {
    CHECK(select({{.pid = 20, .parent = self, .session = 20},
                  {.pid = 21, .parent = self, .session = 21},
                  {.pid = 22, .parent = 21, .session = 21}},
                 {.mark = "", .root = self, .spared = {21, 22}}) == Pids{20});
}

TEST_CASE("set free is what people have set free, and what that starts") {
    constexpr pid_t command = 20;
    const std::vector<ProcessEntry> all{
        {.pid = self, .parent = 1, .session = own_session},
        {.pid = command, .parent = self, .session = command},
        {.pid = 21, .parent = command, .session = command}, // an ordinary child
        {.pid = 22, .parent = command, .session = 22},      // a worker with a session of its own
        {.pid = 23, .parent = self, .session = command},    // its launcher has died
        {.pid = 30, .parent = command, .session = command, .deaf = true}, // nohup
        {.pid = 31, .parent = 30, .session = command},                    // what nohup runs
        {.pid = 40, .parent = self, .session = 40},                       // tmux
        {.pid = 41, .parent = 40, .session = 41},                         // a shell in it
        {.pid = 50, .parent = 1, .session = 50, .deaf = true},            // somebody else's
    };
    CHECK(select_set_free(all, self, command) == std::set<pid_t>{30, 31, 40, 41});
}

TEST_CASE("a command that hears no hangups is free with all that it starts") {
    CHECK(select_set_free({{.pid = 21, .parent = 20, .session = 20},
                           {.pid = 20, .parent = self, .session = 20, .deaf = true}},
                          self, 20) == std::set<pid_t>{20, 21});
}

} // namespace process_killer_test

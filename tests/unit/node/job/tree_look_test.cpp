#include "node/job/tree_look.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

namespace tree_look_test {

using namespace dockdist::node;

TEST_CASE("a tree is a process and all below it, each once, whatever the list says") {
    const std::vector<ProcessStat> all{{.pid = 1, .parent = 0}, {.pid = 2, .parent = 1},
                                       {.pid = 3, .parent = 2}, {.pid = 4, .parent = 1},
                                       {.pid = 5, .parent = 4}, {.pid = 6, .parent = 6}};
    const auto pids = [&](const std::vector<pid_t>& roots) {
        std::vector<pid_t> found;
        for (const auto& process : tree_of(all, roots)) {
            found.push_back(process.pid);
        }
        return found;
    };
    CHECK(pids({2}) == std::vector<pid_t>{2, 3});
    CHECK(pids({4, 2, 3, 9}) == std::vector<pid_t>{4, 2, 3, 5});
    CHECK(pids({6}) == std::vector<pid_t>{6});
    CHECK(pids({}).empty());
}

TEST_CASE("what a process reads from is told by the call that it is in") {
#if defined(__x86_64__)
    const std::string read = "0 0x3 0x7ffe12345678 0x1000 0x0 0x0 0x0 0x7ffe 0x7f1d\n",
                      futex = "202 0x3 0x0\n";
#else
    const std::string read = "63 0x3 0x7ffe12345678 0x1000 0x0 0x0 0x0 0x7ffe 0x7f1d\n",
                      futex = "98 0x3 0x0\n";
#endif
    CHECK(read_descriptor(read) == 3);
    CHECK_FALSE(read_descriptor(futex).has_value());
    for (const auto* const other :
         {"running\n", "", "0\n", "0 3\n", "-1 0x7ffe 0x7f1d\n", "0 0xffffffffffffffff\n"}) {
        CHECK_FALSE(read_descriptor(other).has_value());
    }
}

TEST_CASE("what a process has read and written, and taken, only grows") {
    const auto before = look_at_tree(::getpid());
    REQUIRE_FALSE(before.processes.empty());
    CHECK(before.processes.front().pid == ::getpid());
    auto* const file = std::fopen("/proc/self/status", "r");
    REQUIRE(file != nullptr);
    std::string text(100, '\0');
    CHECK(std::fread(text.data(), 1, text.size(), file) == text.size());
    std::fclose(file);
    const auto after = look_at_tree(::getpid());
    CHECK(after.io_bytes >= before.io_bytes + 100);
    CHECK(ticks_of(after.processes) >= ticks_of(before.processes));
    CHECK(look_at_tree(0).processes.empty());
}

TEST_CASE("how often a main thread has run stands in the text of its status") {
    CHECK(runs_in("Name:\tpython3\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n") == 42);
    CHECK(runs_in("Name:\tvoluntary_ctxt_switches\n") == -1);
    CHECK(runs_in("") == -1);
    CHECK(runs_of(::getpid()) > 0);
}

} // namespace tree_look_test

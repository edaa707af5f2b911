#include "client/job/stack_groups.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stack_groups_test {

using namespace dockdist;

namespace {

PlacedStack rank(int number, const std::string& node, const std::string& function,
                 std::int64_t silent_ms = 60000) {
    return {NodeName(node),
            {.rank = number,
             .pid = 100 + number,
             .command = "python3 train.py",
             .waits_in = "futex_wait",
             .thread_count = 2,
             .silent_ms = silent_ms,
             .tool = "py-spy",
             .threads = {{.name = "loader", .id = 900 + number, .frames = {{"get", "queue.py", number}}},
                         {.name = "MainThread",
                          .id = 100 + number,
                          .frames = {{function, "train.py", 12}, {"main", "train.py", 30}}}}}};
}

std::vector<int> numbers(const StackGroup& group) {
    std::vector<int> ranks;
    for (const auto* each : group) {
        ranks.push_back(each->stack.rank);
    }
    return ranks;
}

} // namespace

TEST_CASE("ranks whose main threads stand at one place are together, the most first, whatever their other "
          "threads do") {
    const std::vector<PlacedStack> ranks{rank(0, "node-0", "save"), rank(1, "node-0", "all_reduce"),
                                         rank(2, "node-1", "all_reduce")};
    const auto groups = group_stacks(ranks);
    REQUIRE(groups.size() == 2);
    CHECK(numbers(groups[0]) == std::vector{1, 2});
    CHECK(numbers(groups[1]) == std::vector{0});
    CHECK(group_stacks({}).empty());
}

TEST_CASE("of groups of one size that with the lowest rank comes first") {
    const std::vector<PlacedStack> ranks{rank(0, "node-0", "z"), rank(1, "node-0", "a")};
    const auto groups = group_stacks(ranks);
    REQUIRE(groups.size() == 2);
    CHECK(numbers(groups[0]) == std::vector{0});
}

TEST_CASE("without stacks those are together that wait alike; what gdb says counts without its addresses") {
    const auto bare = [](int number, const std::string& waits_in, std::vector<std::string> lines) {
        return PlacedStack{NodeName("n"),
                           {.rank = number,
                            .pid = 5 + number,
                            .command = "./train",
                            .waits_in = waits_in,
                            .lines = std::move(lines)}};
    };
    CHECK(group_stacks({bare(0, "futex", {}), bare(1, "futex", {}), bare(2, "pipe", {})}).size() == 2);
    const std::vector<PlacedStack> told{bare(0, "", {"Thread 1 (LWP 77):", "#0 0x00007f12 in read ()"}),
                                        bare(1, "", {"Thread 1 (LWP 1234):", "#0 0x00007fff9a in read ()"}),
                                        bare(2, "", {"Thread 1 (LWP 77):", "#0 0x00007f12 in write ()"})};
    CHECK(group_stacks(told).size() == 2);
}

TEST_CASE(
    "the text names the ranks of each place, how long they were silent, and one of them as an example") {
    const std::vector<PlacedStack> ranks{rank(0, "node-0", "all_reduce"),
                                         rank(1, "node-0", "all_reduce", 50000), rank(2, "node-1", "read"),
                                         rank(3, "node-1", "all_reduce")};
    CHECK(stacks_text(JobId("night"), {.ranks = ranks}, ShownThreads::main, no_terminal) ==
          "night: 4 ranks at 2 places\n"
          "\n"
          "ranks 0-1 on node-0, 3 on node-1: silent for at least 50 s\n"
          "  process 100 (python3 train.py) sleeps in futex_wait, 0 % CPU, 2 threads\n"
          "    MainThread\n"
          "      all_reduce (train.py:12)\n"
          "      main (train.py:30)\n"
          "    1 more thread (--threads)\n"
          "\n"
          "rank 2 on node-1: silent for 1 min 0 s\n"
          "  process 102 (python3 train.py) sleeps in futex_wait, 0 % CPU, 2 threads\n"
          "    MainThread\n"
          "      read (train.py:12)\n"
          "      main (train.py:30)\n"
          "    1 more thread (--threads)\n");
    const auto all = stacks_text(JobId("night"), {.ranks = ranks}, ShownThreads::all, no_terminal);
    CHECK(all.find("    loader\n      get (queue.py:2)\n") != std::string::npos);
    CHECK(all.find("--threads") == std::string::npos);
}

TEST_CASE("another thread that holds the GIL is shown, too, and a deep stack is cut") {
    auto deep = rank(0, "node-0", "step");
    deep.stack.moves = true;
    deep.stack.threads[0].holds_gil = true;
    deep.stack.threads[1].frames.resize(30, {"again", "train.py", 1});
    const auto text = stacks_text(JobId("j"), {.ranks = {deep}}, ShownThreads::main, no_terminal);
    CHECK(text.starts_with("j: 1 rank at one place\n\nrank 0 on node-0: silent for 1 min 0 s\n"));
    CHECK(text.find("2 threads; it moved while it was looked at\n    loader, holds the GIL\n") !=
          std::string::npos);
    CHECK(text.ends_with("      again (train.py:1)\n      … 6 more\n"));
}

TEST_CASE("what could not be read says why, and what helps") {
    const std::vector<PlacedStack> ranks{
        {NodeName("node-0"),
         {.rank = -1,
          .pid = 9,
          .command = "./train",
          .thread_count = 1,
          .problem = "gdb failed: no",
          .advice = "do this"}},
        {NodeName("node-1"), {.rank = 4, .problem = "cannot start a process"}}};
    const auto text = stacks_text(JobId("j"), {.ranks = ranks}, ShownThreads::main, no_terminal);
    CHECK(text.find("the command on node-0: silent for 0.00 s\n  process 9 (./train) sleeps, 0 % CPU, 1 "
                    "thread\n  gdb failed: no; do this\n") != std::string::npos);
    CHECK(text.find("rank 4 on node-1: silent for 0.00 s\n  cannot start a process\n") != std::string::npos);
    CHECK(stacks_text(JobId("j"), {}, ShownThreads::main, no_terminal) == "j: no rank runs just now\n");
}

TEST_CASE("what each source says of the job stands above its ranks") {
    const std::vector<PlacedStack> ranks{rank(0, "node-0", "save")};
    const auto text = stacks_text(
        JobId("j"),
        {.ranks = ranks, .ras = {.text = "rank 1 is behind"}, .flight = {.text = "it is", .hint = "do it"}},
        ShownThreads::main, no_terminal);
    CHECK(text.find("\nRAS: rank 1 is behind\nflight recorder: it is\n  → do it\n\nrank 0 on node-0") !=
          std::string::npos);
}

} // namespace stack_groups_test

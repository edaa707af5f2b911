#include "shared/job_state/stack_text.hpp"

#include <doctest/doctest.h>

namespace stack_text_test {

using namespace dockdist;
using State = wire::RankStack::State;

TEST_CASE("what a process is doing is one sentence, whatever its state") {
    wire::RankStack stack{
        .pid = 12, .command = "python3 train.py", .waits_in = "futex_wait", .thread_count = 1};
    CHECK(process_text(stack) == "process 12 (python3 train.py) sleeps in futex_wait, 0 % CPU, 1 thread");
    stack.state = State::running;
    stack.cpu_percent = 100;
    stack.thread_count = 2;
    CHECK(process_text(stack) == "process 12 (python3 train.py) runs, 100 % CPU, 2 threads");
    stack.state = State::in_kernel;
    CHECK(process_text(stack) ==
          "process 12 (python3 train.py) waits in the kernel in futex_wait, 100 % CPU, 2 threads");
    stack.waits_in.clear();
    stack.state = State::stopped;
    CHECK(process_text(stack) == "process 12 (python3 train.py) is stopped (SIGSTOP), 100 % CPU, 2 threads");
    stack.state = State::traced;
    CHECK(process_text(stack) == "process 12 (python3 train.py) is held by a debugger, 100 % CPU, 2 threads");
    stack.state = State::ending;
    CHECK(process_text(stack) == "its process is just ending");
    CHECK(process_text({.problem = "cannot start a process"}) == "cannot start a process");
}

TEST_CASE("in the log stand its silence, its state, and each thread's frames; or why there are none, and "
          "once what helps") {
    wire::RankStack stack{.pid = 12,
                          .command = "python3 train.py",
                          .thread_count = 2,
                          .silent_ms = 3000,
                          .moves = true,
                          .tool = "py-spy",
                          .threads = {{.name = "MainThread",
                                       .id = 12,
                                       .holds_gil = true,
                                       .frames = {{"wait", "a.py", 7}, {"main", "b.py", 0}}},
                                      {.id = 13, .active = true}}};
    CHECK(stack_text(stack, true) ==
          "dockdist: wrote nothing for 3.00 s; process 12 (python3 train.py) sleeps, 0 % CPU, 2 threads\n"
          "dockdist: py-spy, which saw it move:\n"
          "dockdist:     MainThread, holds the GIL\n"
          "dockdist:         wait (a.py:7)\n"
          "dockdist:         main (b.py)\n"
          "dockdist:     thread 13, active\n");
    stack = {
        .pid = 12, .command = "x", .thread_count = 1, .problem = "py-spy failed: no", .advice = "do this"};
    CHECK(stack_text(stack, true).ends_with("thread\ndockdist: py-spy failed: no; do this\n"));
    CHECK(stack_text(stack, false).ends_with("thread\ndockdist: py-spy failed: no\n"));
    stack.problem.clear();
    CHECK(stack_text(stack, true).ends_with("thread\ndockdist: do this\n"));
    CHECK(stack_text(stack, false).ends_with("1 thread\n"));
}

} // namespace stack_text_test

#include "shared/job_state/job_end.hpp"
#include "shared/job_state/job_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace job_text_test {

using namespace dockdist;

TEST_CASE("a failure has one wording, with its node or without") {
    const wire::JobFailure command{.node = "node-1", .code = 7};
    CHECK(failure_text(command) == "the command exited with 7");
    CHECK(located_text(command) == "node-1: the command exited with 7");
    CHECK(failure_text({.rank = 3, .code = 139, .signal = 11}) ==
          "rank 3 was ended by signal 11 (Segmentation fault)");
    CHECK(failure_text({.rank = 3, .code = 137, .signal = 9, .oom = true}) ==
          "rank 3 was killed: out of memory (its limit was reached)");
    const wire::JobFailure found{.node = "node-1", .code = 125, .finding = "nothing was heard of node-1"};
    CHECK(failure_text({.rank = 3, .code = 2, .cause = "why"}) == "rank 3 exited with 2: why");
    CHECK(taken_port({.port = 29500, .by = "process 7 (python3)", .job = "j", .rank = "0"}, "j").cause ==
          "the port 29500 that it wants is taken by process 7 (python3), rank 0 of this job");
    CHECK(taken_port({.port = 29500, .by = "process 7 (python3)", .job = "k"}, "j").advice ==
          "`dockdist stop k` ends that; or take another port");
    CHECK(taken_port({}, "j").cause == "the port that it wants is taken");
    CHECK(missing_script("/train.py").advice == "`sync: [\".:/workspace\"]` in the file brings it there, "
                                                "with `container.workdir: /workspace`; --workdir "
                                                "names another folder");
    CHECK(failure_text(found) == "nothing was heard of node-1");
    CHECK(located_text(found) == "nothing was heard of node-1");
}

TEST_CASE("what follows a failure") {
    const wire::JobPolicy policy{.max_restarts = 3};
    CHECK(restart_text({.rank = 3, .code = 7}, 1, 100, policy) ==
          "rank 3 exited with 7: attempt 2 of 4 begins in 0.1 s");
    CHECK(stop_text({.rank = 3, .code = 7}) == "rank 3 exited with 7: the job is stopped everywhere");
}

TEST_CASE("ranks that were not started") {
    CHECK(missing_ranks_text(2, 4) ==
          "the launcher ended with 0, and has started 2 of 4 ranks: its own lines say why");
    CHECK(second_rank_text(0, {"node-1"}) == "rank 0 was started twice on node-1: more than one node's "
                                             "launcher starts the whole job; look at what the "
                                             "launcher's own configuration says of nodes and hosts");
    CHECK(second_rank_text(0, {"node-0", "node-1"}) ==
          "rank 0 was started on node-0 and on node-1: these have each run a job of their own; look at what "
          "the "
          "launcher's own configuration says of nodes and hosts");
}

TEST_CASE("of what it wrote a screenful is told, with the cause and where all is") {
    std::string tail = "Traceback (most recent call last):\n";
    for (int i = 0; i < 60; ++i) {
        tail += "  File \"m.py\", line 1, in f\n    return self.f(x)\n";
    }
    wire::JobFailure failure{.node = "node-1", .rank = 3, .code = 1, .tail = tail + "ValueError: boom\n"};
    auto text = last_lines_text(failure, JobId("job-1"), {});
    CHECK(text.starts_with(
        "its last lines, 119 left out (`dockdist logs job-1 --rank 3` has all):\n… 119 lines\n"));
    CHECK(text.ends_with("\nValueError: boom"));
    failure.rank = -1;
    text = last_lines_text(failure, JobId("job-1"), {});
    CHECK(text.starts_with("its last lines, 119 left out (`dockdist logs job-1 --node node-1` has all):\n"));
    failure.advice = std::string(300, 'a') + "\nb";
    const auto errors = end_errors(
        outcome_of(
            {{.node = NodeName("node-1"), .result = wire::JobResult{.code = 1, .failures = {failure}}}}, {}),
        JobId("job-1"));
    CHECK(errors[0].hint.ends_with("\nValueError: boom"));
    CHECK(std::ranges::count(errors[0].hint, '\n') < 16);
    CHECK(errors[0].hint.size() <= 1600);
    CHECK(last_lines_text({.tail = "\x1b[31m\n\n"}, JobId("job-1"), {}).empty());
    CHECK(last_lines_text({.tail = "a\x07\n"}, JobId("job-1"), {}) == "its last lines:\na\\x07");
}

} // namespace job_text_test

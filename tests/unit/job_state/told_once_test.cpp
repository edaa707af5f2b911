#include "shared/job_state/job_end.hpp"

#include <doctest/doctest.h>

namespace told_once_test {

using namespace dockdist;

TEST_CASE("failures that are alike are told in one, and of the other nodes what that does not say") {
    const auto node = [](const char* name, wire::JobResult result) {
        return NodeOutcome{.node = NodeName(name), .result = std::move(result)};
    };
    const wire::JobFailure first{
        .rank = 3, .code = 2, .tail = "dockdist: no t.py\n", .cause = "no t.py", .advice = "bring it"};
    auto second = first;
    second.rank = 4;
    auto third = first;
    third.rank = 5;
    const wire::JobResult told{.code = 143, .signal = 15, .stopped = true, .reason = "stop"};
    const wire::JobFailure another{.rank = 6, .code = 3};
    const auto outcome =
        outcome_of({node("node-1", {.code = 2, .failures = {first}}),
                    node("node-2", {.code = 2, .failures = {second, third}}),
                    node("node-3", {.code = 3, .failures = {another}}), node("node-4", told)},
                   {});
    // Its last line is the node's own word for the cause.
    CHECK(to_text(end_errors(outcome, JobId("job-1"))[0]) ==
          "node-1: job-1: rank 3 exited with 2: no t.py; the same of 2 more ranks on node-2\n  bring it");
    REQUIRE(not_told_yet(outcome).size() == 1);
    CHECK(not_told_yet(outcome)[0].node.str() == "node-3");
    CHECK_FALSE(alike(first, {.rank = -1, .code = 2, .cause = "no t.py"}));
    CHECK_FALSE(alike(first, {.rank = 3, .code = 2, .cause = "no u.py"}));
    const auto both = outcome_of({node("node-1", {.code = 7, .failures = {{.code = 7}}}),
                                  node("node-2", {.code = 7, .failures = {{.code = 7}}}),
                                  NodeOutcome{.node = NodeName("node-3")}},
                                 {});
    CHECK(end_errors(both, JobId("job-1"))[0].message ==
          "job-1: the command exited with 7; the same on node-2");
    REQUIRE(not_told_yet(both).size() == 1); // a lost one
    const auto timed_out =
        outcome_of({node("node-1", {.code = 143, .stopped = true, .reason = "timeout"})}, {});
    CHECK(not_told_yet(timed_out).empty());
}

} // namespace told_once_test

#include "shared/job_state/job_end.hpp"

#include <doctest/doctest.h>

namespace first_failure_test {

using namespace dockdist;

TEST_CASE("on record a job's failure is the one that a node found behind what its coordinator held") {
    const wire::JobFailure closed{
        .node = "node-1", .rank = 2, .code = 1, .tail = "gloo: Connection closed by peer"};
    const wire::JobFailure raised{
        .rank = 1, .code = 3, .tail = "Traceback (most recent call last):\nValueError: 7"};
    const auto first_of = [&](const wire::JobFailure& held, const std::vector<wire::JobFailure>& on_node_0) {
        const wire::JobResult one{.code = 1, .stopped = true, .failures = on_node_0, .first = held};
        const wire::JobResult other{.code = 1, .failures = {closed}, .first = held};
        const auto outcome = outcome_of(
            {{.node = NodeName("node-0"), .result = one}, {.node = NodeName("node-1"), .result = other}}, {});
        return std::pair(outcome.first_failure->node, outcome.first_failure->rank);
    };
    CHECK(first_of(closed, {raised}) == std::pair(std::string("node-0"), 1));
    CHECK(first_of(closed, {closed, raised}) == std::pair(std::string("node-0"), 1));
    CHECK(first_of(closed, {}) == std::pair(std::string("node-1"), 2));
    const wire::JobFailure lost{.node = "node-1", .code = 125, .finding = "node-1 was lost"};
    CHECK(first_of(lost, {raised}) == std::pair(std::string("node-1"), -1));
}

} // namespace first_failure_test

#include "shared/job_state/job_end.hpp"

#include <doctest/doctest.h>

namespace command_ranks_test {

using namespace dockdist;

TEST_CASE("a command that no launcher starts is the rank that its place among the members says") {
    wire::JobPolicy policy{.parts = {{.node = "a"}, {.node = "b"}, {.node = "c"}}};
    CHECK(wire::command_ranks(policy) == std::map<std::string, int>{{"a", 0}, {"b", 1}, {"c", 2}});
    policy.parts[1].hosts_remote_ranks = true; // a spare, or lost
    policy.members = {2, 0};
    const auto ranks = wire::command_ranks(policy);
    CHECK(ranks == std::map<std::string, int>{{"c", 0}, {"a", 1}});
    wire::JobResult result{.code = 7, .failures = {{.code = 7}}};
    result.failures.push_back({.rank = -1, .code = 125, .finding = "node-1 was lost"});
    number_ranks(result, "a", ranks);
    CHECK(result.ranks == 1);
    CHECK(result.rank_numbers == std::vector<int>{1});
    CHECK(result.failures.front().rank == 1);
    CHECK(result.failures.front().local_rank == 0);
    CHECK(result.failures.back().rank == -1); // no process has failed
    wire::JobResult other{.code = 7, .failures = {{.code = 7}}};
    number_ranks(other, "b", ranks);
    CHECK(other.ranks == 0);
    CHECK(other.failures.front().rank == -1);
    policy.parts[2].ranks = 4; // by a launcher
    CHECK(wire::command_ranks(policy).empty());
}

} // namespace command_ranks_test

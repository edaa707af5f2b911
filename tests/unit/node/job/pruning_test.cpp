#include "node/job/pruning.hpp"
#include "node/system/store.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace pruning_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr std::int64_t day = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t now = 1000 * day;
constexpr wire::HistoryLimits limits{.keep_bytes = 100, .for_ms = 90 * day, .logs_for_ms = 30 * day};

KeptJob ended(std::string name, std::int64_t days_ago, std::uint64_t output = 1) {
    return {.job = std::move(name), .ended_ms = now - days_ago * day, .output = output};
}

std::vector<std::string> outputs(const Pruning& pruning) {
    std::vector<std::string> jobs;
    std::ranges::transform(pruning.outputs, std::back_inserter(jobs), &Pruning::Output::job);
    return jobs;
}

} // namespace

TEST_CASE("output goes before its record does, each at its age") {
    const auto pruning = what_goes({ended("a", 29), ended("b", 31), ended("c", 91)}, limits, now);
    CHECK(pruning.records == std::vector<std::string>{"c"});
    REQUIRE(outputs(pruning) == std::vector<std::string>{"b"});
    CHECK(pruning.outputs[0].cause == "the job ended more than 30 days ago (`history.logs_for`)");
}

TEST_CASE("beyond `keep` the output of what ended first goes first, and no more than has to") {
    const auto pruning =
        what_goes({ended("new", 1, 60), ended("old", 3, 50), ended("mid", 2, 40)}, limits, now);
    CHECK(pruning.records.empty());
    REQUIRE(outputs(pruning) == std::vector<std::string>{"old"});
    CHECK(pruning.outputs[0].cause.find("`history.keep`") != std::string::npos);
}

TEST_CASE("what is old goes first, and makes room for the rest") {
    const auto pruning = what_goes({ended("old", 40, 90), ended("new", 1, 60)}, limits, now);
    CHECK(outputs(pruning) == std::vector<std::string>{"old"});
}

TEST_CASE("a running job loses nothing, whatever its age, and its output counts") {
    auto running = ended("long", 500, 1000);
    running.running = true;
    const auto pruning = what_goes({running, ended("a", 1, 5), ended("b", 2, 5)}, limits, now);
    CHECK(pruning.records.empty());
    CHECK(outputs(pruning) == std::vector<std::string>{"b", "a"});
}

TEST_CASE("what has no output any more is not pruned again") {
    CHECK(what_goes({ended("a", 40, 0)}, limits, now).outputs.empty());
}

TEST_CASE("there is an end to the number of records, and the oldest go") {
    std::vector<KeptJob> jobs;
    for (std::size_t i = 0; i < most_ended_jobs + 2; ++i) {
        jobs.push_back({.job = std::to_string(i), .ended_ms = now - static_cast<std::int64_t>(i)});
    }
    CHECK(what_goes(jobs, limits, now).records ==
          std::vector<std::string>{std::to_string(most_ended_jobs + 1), std::to_string(most_ended_jobs)});
}

TEST_CASE("a clock that went back keeps what ended in its future") {
    CHECK(what_goes({ended("a", -5)}, limits, now).records.empty());
}

TEST_CASE("a disk is nearly full with less than a twentieth free; of none that is not told") {
    CHECK(is_nearly_full(4, 100));
    CHECK_FALSE(is_nearly_full(5, 100));
    CHECK_FALSE(is_nearly_full(0, 0));
}

} // namespace pruning_test

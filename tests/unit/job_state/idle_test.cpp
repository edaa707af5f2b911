#include "shared/job_state/job_text.hpp"
#include "unit/job_state/told.hpp"

#include <doctest/doctest.h>

namespace idle_test {

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

wire::JobPolicy settings(bool stop, int max_restarts = 0) {
    return {.parts = {{.node = "node-0"}, {.node = "node-1"}},
            .max_restarts = max_restarts,
            .backoff_ms = 1000,
            .idle_ms = 1'800'000,
            .stop_idle = stop};
}

bool all_are(const std::vector<JobStateMachine::Order>& orders, Type type) {
    return orders.size() == 2 && orders[0].command.type == type && orders[1].command.type == type;
}

} // namespace

TEST_CASE("a job is idle when the GPUs of all its parts are, and that is told once") {
    JobStateMachine job(settings(false));
    job.idle(0, 0, 2);
    CHECK(job.decide(10).empty());
    CHECK(told(job).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.idle(1, 0, 1);
    CHECK(job.decide(20).empty());
    CHECK(told(job).empty());
    CHECK(job.wake_at_ms() == 2020); // what is told next may say otherwise
    CHECK(job.decide(2020).empty());
    CHECK(told(job) ==
          "the job's 3 GPUs did nothing for 30 min, and nobody else has them until it ends (`--on-idle "
          "stop` ends such a job)");
    CHECK(job.decide(2030).empty());
    CHECK(told(job).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.busy(1, 0);
    job.decide(2040);
    job.idle(1, 0, 1);
    job.decide(2050);
    job.decide(4050);
    CHECK_FALSE(told(job).empty()); // anew
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("where it is to be stopped that is a failure, with timeout's exit code") {
    JobStateMachine job(settings(true));
    job.idle(0, 0, 0); // a node without GPUs
    CHECK(job.decide(5).empty());
    job.idle(1, 0, 1);
    CHECK(job.decide(10).empty());
    const auto orders = job.decide(2010);
    REQUIRE(all_are(orders, Type::stop));
    CHECK(orders[0].command.first->code == 124);
    CHECK(orders[0].command.first->node == "node-1");
    CHECK(orders[0].command.first->finding == "the job's GPU did nothing for 30 min");
    CHECK(told(job) == "the job's GPU did nothing for 30 min: the job is stopped everywhere");

    JobStateMachine again(settings(true, 1));
    again.idle(0, 0, 1);
    again.idle(1, 0, 1);
    CHECK(again.decide(0).empty());
    CHECK(all_are(again.decide(2000), Type::halt));
    again.ended(0, 0, {});
    again.ended(1, 0, {});
    CHECK(again.decide(2001).empty());
    CHECK(all_are(again.decide(3001), Type::begin));
    again.idle(0, 0, 1); // what the former attempt says
    again.idle(1, 1, 1);
    CHECK(again.decide(3002).empty());
    CHECK(again.decide(9000).empty());
}

TEST_CASE("who begins to listen hears what was before, and judges by what is now") {
    JobStateMachine job(settings(true));
    for (int i = 0; i < 3; ++i) {
        job.idle(0, 0, 1);
        job.idle(1, 0, 1);
        CHECK(job.decide(100 + i).empty());
        job.busy(1, 0);
        CHECK(job.decide(110 + i).empty());
    }
    CHECK(job.decide(10'000).empty());
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("a job without GPUs is never idle, nor one that nobody watches") {
    JobStateMachine none(settings(true));
    none.idle(0, 0, 0);
    none.idle(1, 0, 0);
    CHECK(none.decide(0).empty());
    CHECK(none.decide(5000).empty());
    auto unwatched = settings(true);
    unwatched.idle_ms = 0;
    JobStateMachine other(unwatched);
    other.idle(0, 0, 1);
    other.idle(1, 0, 1);
    CHECK(other.decide(0).empty());
    CHECK(other.decide(5000).empty());
}

TEST_CASE("GPUs of a part that has just ended may have worked until then") {
    JobStateMachine job(settings(true));
    job.idle(1, 0, 1);
    job.ended(0, 0, {});
    CHECK(job.decide(100).empty());
    CHECK(job.wake_at_ms() == 1'800'100);
    const auto orders = job.decide(1'800'100);
    CHECK(orders.size() == 2);
}

TEST_CASE("what silence and idleness wake the job for is the earlier of the two") {
    auto both = settings(false);
    both.stall_ms = 60'000;
    JobStateMachine job(both);
    job.idle(1, 0, 1);
    job.silent(1, 0);
    job.ended(0, 0, {});
    CHECK(job.decide(1000).empty());
    CHECK(job.wake_at_ms() == 61'000);
}

} // namespace idle_test

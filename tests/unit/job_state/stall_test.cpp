#include "shared/job_state/job_text.hpp"
#include "unit/job_state/told.hpp"

#include <doctest/doctest.h>

namespace stall_test {

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

wire::JobPolicy settings(bool stop, int max_restarts = 0) {
    return {.parts = {{.node = "node-0"}, {.node = "node-1"}},
            .max_restarts = max_restarts,
            .backoff_ms = 1000,
            .grace_ms = 500,
            .stall_ms = 600000,
            .stop_stalled = stop};
}

bool all_are(const std::vector<JobStateMachine::Order>& orders, Type type) {
    return orders.size() == 2 && orders[0].command.type == type && orders[1].command.type == type;
}

} // namespace

TEST_CASE("a job has stalled when all its parts are silent, and is asked once what it does") {
    JobStateMachine job(settings(false));
    job.silent(1, 0);
    CHECK(job.decide(0).empty());
    CHECK(told(job).empty());
    job.silent(0, 0);
    const auto orders = job.decide(10);
    CHECK(all_are(orders, Type::report));
    CHECK(orders[0].command.attempt == 0);
    CHECK(told(job) == stall_text(settings(false), "node-1"));
    CHECK(told(job).empty());
    CHECK(job.decide(20).empty());
    job.reported(0, 0);
    job.reported(1, 0);
    CHECK(job.decide(1000000).empty()); // only told
    CHECK_FALSE(job.wake_at_ms().has_value());
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("a part that speaks makes it a job that goes on, and the next silence is told anew") {
    JobStateMachine job(settings(true));
    job.silent(0, 0);
    job.silent(1, 0);
    CHECK(all_are(job.decide(0), Type::report));
    job.reported(0, 0);
    job.speaks(1, 0);
    job.reported(1, 0);
    CHECK(job.decide(100000).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.silent(1, 0);
    CHECK(job.decide(200000).empty());
    CHECK(job.wake_at_ms() == 700000); // since node-1 spoke
    told(job);
    CHECK(all_are(job.decide(700000), Type::report));
    CHECK(told(job) == stall_text(settings(true), "node-0"));
}

TEST_CASE("a stalled job fails when it has told what it does, or takes too long to tell") {
    const auto fails_after = [](bool reports) {
        JobStateMachine job(settings(true));
        job.silent(0, 0);
        job.silent(1, 0);
        CHECK(all_are(job.decide(0), Type::report));
        job.reported(0, 0);
        CHECK(job.decide(59999).empty());
        CHECK(job.wake_at_ms() == 60000);
        if (reports) {
            job.reported(1, 0);
        }
        const auto orders = job.decide(reports ? 1 : 60000);
        CHECK(all_are(orders, Type::stop));
        CHECK(orders[1].command.first->node == "node-0");
        CHECK(orders[1].command.first->code == 124);
        CHECK(orders[1].command.first->finding == "no rank wrote anything for 10 min");
        CHECK(told(job) == stall_text(settings(true), "node-0") +
                               "; no rank wrote anything for 10 min: the job is stopped everywhere");
        CHECK_FALSE(job.wake_at_ms().has_value());
    };
    fails_after(true);
    fails_after(false);
}

TEST_CASE("who keeps the others waiting is told, and is the failure of a job that is stopped for it") {
    const auto in = [](int rank, const std::string& file, const std::string& function) {
        return wire::RankStack{.rank = rank,
                               .pid = 9,
                               .silent_ms = 600000,
                               .threads = {{.name = "MainThread",
                                            .id = 9,
                                            .frames = {{function, file, 1}, {"step", "train.py", rank}}}}};
    };
    const auto waits = in(0, "torch/distributed/distributed_c10d.py", "all_reduce");
    const auto loads = in(1, "torch/utils/data/dataloader.py", "_next_data");
    for (const bool stop : {false, true}) {
        JobStateMachine job(settings(stop));
        job.silent(0, 0);
        job.silent(1, 0);
        CHECK(all_are(job.decide(0), Type::report));
        CHECK(told(job) == stall_text(settings(stop), "node-0"));
        job.reported(0, 0, {waits});
        CHECK(job.decide(1).empty());
        CHECK(told(job).empty()); // by what one has told nobody is judged
        job.reported(1, 0, {loads});
        const std::string verdict = "rank 1 on node-1: it waits for its next batch of data, in step "
                                    "(train.py:1); another one waits for it in step (train.py)";
        const auto orders = job.decide(2);
        CHECK(told(job).starts_with(verdict));
        job.decide(3);
        CHECK(told(job).empty()); // once
        CHECK(orders.empty() == !stop);
        if (stop) {
            CHECK(job.first_failure()->node == "node-1");
            CHECK(job.first_failure()->finding == "no rank wrote anything for 10 min: " + verdict);
            CHECK(job.first_failure()->advice.find("data loader") != std::string::npos);
        }
    }
}

TEST_CASE("where each node's command is its rank, the verdict names it so") {
    JobStateMachine job(settings(true));
    job.silent(0, 0);
    job.silent(1, 0);
    job.decide(0);
    told(job);
    const wire::RankStack waits{
        .pid = 9,
        .threads = {
            {.name = "MainThread", .frames = {{"barrier", "torch/distributed/distributed_c10d.py", 1}}}}};
    job.reported(0, 0, {waits});
    job.reported(1, 0, {{.pid = 9, .state = wire::RankStack::State::stopped}});
    job.decide(1);
    CHECK(told(job).starts_with(
        "rank 1 on node-1: it was stopped (SIGSTOP); another one waits for it in barrier"));
    CHECK(job.first_failure()->node == "node-1");
}

TEST_CASE("a stalled job is begun anew where restarts are left, and its silence counts anew") {
    JobStateMachine job(settings(true, 1));
    job.silent(0, 0);
    job.silent(1, 0);
    CHECK(all_are(job.decide(0), Type::report));
    job.reported(0, 0);
    job.reported(1, 0);
    CHECK(all_are(job.decide(1), Type::halt));
    job.ended(0, 0, {});
    job.ended(1, 0, {});
    CHECK(job.decide(2).empty());
    CHECK(all_are(job.decide(1002), Type::begin));
    job.silent(0, 0); // what the former attempt says
    job.silent(1, 1);
    CHECK(job.decide(1003).empty());
    job.silent(0, 1);
    CHECK(all_are(job.decide(1004), Type::report));
}

TEST_CASE("a part that has ended is not waited for, and a job that nobody watches does not stall") {
    JobStateMachine job(settings(false));
    job.silent(1, 0);
    job.ended(0, 0, {});
    CHECK(job.decide(10).empty()); // it may have spoken just now, and the other one is about to
    CHECK(job.wake_at_ms() == 600010);
    const auto orders = job.decide(600010);
    REQUIRE(orders.size() == 1);
    CHECK(orders[0].part == 1);
    CHECK(orders[0].command.type == Type::report);

    auto unwatched = settings(true);
    unwatched.stall_ms = 0;
    JobStateMachine other(unwatched);
    other.silent(0, 0);
    other.silent(1, 0);
    CHECK(other.decide(0).empty());
}

TEST_CASE("what people read of a stall") {
    CHECK(stall_text(settings(false), "node-1") == "no rank wrote anything for 10 min (node-1 was the first "
                                                   "to fall silent): what each is doing follows");
    CHECK(stall_text(settings(true), "node-1") == "no rank wrote anything for 10 min (node-1 was the first "
                                                  "to fall silent): what each is doing follows, "
                                                  "then the job is stopped");
}

TEST_CASE("a service that has answered is told once an attempt") {
    JobStateMachine job(settings(false, 1));
    const auto ready = [&](int attempt) {
        job.hear(
            1, {.type = wire::JobEvent::Type::ready, .attempt = attempt, .address = "http://10.0.0.2:8000"});
    };
    CHECK(job.ready_at().empty());
    ready(0);
    ready(0);
    CHECK(job.ready_at() == "http://10.0.0.2:8000");
    CHECK(told(job) == "node-1: ready: http://10.0.0.2:8000 answers");
    job.rank_failed(0, 0, {.rank = 0, .code = 7});
    CHECK(all_are(job.decide(0), Type::halt));
    job.ended(0, 0, {.code = 7});
    job.ended(1, 0, {.code = 143, .stopped = true});
    CHECK(job.decide(1).empty());
    CHECK(all_are(job.decide(2000), Type::begin));
    CHECK(job.ready_at().empty());
    ready(0); // late
    CHECK(job.ready_at().empty());
    told(job);
    ready(1);
    CHECK(told(job) == "node-1: ready: http://10.0.0.2:8000 answers");
}

} // namespace stall_test

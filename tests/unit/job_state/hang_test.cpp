#include "shared/job_state/job_state_machine.hpp"
#include "unit/job_state/told.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace hang_test {

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;
using Orders = std::vector<JobStateMachine::Order>;

wire::JobPolicy settings(bool act = false, int max_restarts = 0) {
    return {.parts = {{.node = "node-0", .ranks = 1}, {.node = "node-1", .ranks = 1}},
            .max_restarts = max_restarts,
            .backoff_ms = 1000,
            .grace_ms = 500,
            .suspect_ms = 30000,
            .stop_hung = act};
}

wire::RankStack waits(int rank) {
    return {.rank = rank,
            .pid = 9,
            .silent_ms = 60000,
            .threads = {{.name = "MainThread",
                         .id = 9,
                         .frames = {{"all_reduce", "torch/distributed/distributed_c10d.py", 1},
                                    {"step", "train.py", 7}}}}};
}

wire::RankStack is_stopped(int rank) {
    auto stack = waits(rank);
    stack.state = wire::RankStack::State::stopped;
    return stack;
}

std::string text(const Orders& orders) {
    std::string all;
    for (const auto& order : orders) {
        const auto line = wire::job_command_line(order.command);
        const auto at = line.find("\"type\":\"") + 8;
        all += (all.empty() ? "" : " ") + std::to_string(order.part) + ":" +
               line.substr(at, line.find('"', at) - at);
    }
    return all;
}

void both_still(JobStateMachine& job) {
    job.still(0, 0);
    job.still(1, 0);
}

Orders both_examined(JobStateMachine& job, const wire::RankStack& first, const wire::RankStack& second,
                     std::int64_t now_ms) {
    job.examined(0, 0, {first});
    job.examined(1, 0, {second});
    return job.decide(now_ms);
}

const std::string stopped_text =
    "the job hangs: rank 1 on node-1: it was stopped (SIGSTOP), in step (train.py:7); "
    "another one waits for it in step (train.py:7)";

} // namespace

TEST_CASE("a job is looked at once nothing moves in any part, and why it hangs is told to all, once") {
    JobStateMachine job(settings());
    job.still(1, 0);
    CHECK(job.decide(0).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.still(0, 0);
    const auto orders = job.decide(1000);
    CHECK(text(orders) == "0:examine 1:examine");
    CHECK(orders[0].command.pause_ms == 10000);
    CHECK(job.wake_at_ms() == 61000);
    job.examined(0, 0, {waits(0)});
    CHECK(job.decide(12000).empty()); // by what one has told nobody is judged
    job.examined(1, 0, {is_stopped(1)});
    const auto hang = job.decide(12001);
    CHECK(text(hang) == "0:hang 1:hang");
    CHECK(hang[0].command.hang->cause == "stopped");
    CHECK(hang[0].command.hang->node == "node-1");
    CHECK(hang[0].command.hang->rank == 1);
    CHECK(hang[0].command.hang->restart_helps == "yes");
    const auto said = told(job);
    CHECK(said.starts_with(stopped_text + "; others wait in all_reduce, step (train.py:7); "));
    CHECK(said.find("a restart helps") != std::string::npos);
    CHECK(text(job.decide(*job.wake_at_ms())) == "0:examine 1:examine"); // whether it changes
    CHECK(both_examined(job, waits(0), is_stopped(1), 90000).empty());
    CHECK(told(job).empty());
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("a job that goes on takes back what was said of it") {
    JobStateMachine job(settings());
    both_still(job);
    job.decide(0);
    both_examined(job, waits(0), is_stopped(1), 11000);
    told(job);
    job.goes_on(1, 0);
    const auto orders = job.decide(12000);
    CHECK(text(orders) == "0:hang 1:hang");
    CHECK(orders[0].command.hang->cause.empty());
    CHECK(told(job) == "the job goes on: what was said of its hang holds no more");
    CHECK_FALSE(job.wake_at_ms().has_value());
}

TEST_CASE("who works is looked at ever more seldom, and no alarm is given") {
    JobStateMachine job(settings());
    auto busy = waits(1);
    busy.threads[0].frames = {{"save", "train.py", 9}};
    busy.io_bytes = 1 << 20;
    both_still(job);
    std::int64_t now = 0;
    std::vector<std::int64_t> rests;
    for (int i = 0; i < 8; ++i) {
        CHECK(text(job.decide(now)) == "0:examine 1:examine");
        now += 11000;
        CHECK(both_examined(job, waits(0), busy, now).empty());
        rests.push_back(*job.wake_at_ms() - now);
        now = *job.wake_at_ms();
    }
    CHECK(rests == std::vector<std::int64_t>{0, 0, 0, 60000, 120000, 240000, 480000, 600000});
    CHECK(told(job).empty());
    job.still(1, 0); // it has come to rest: at once
    CHECK(text(job.decide(now - 1)) == "0:examine 1:examine");
}

TEST_CASE("all that wait at one place are told once they have stood there for half a minute") {
    JobStateMachine job(settings());
    both_still(job);
    std::int64_t now = 0;
    std::string said;
    int looks = 0;
    while (said.empty() && ++looks < 10) {
        job.decide(now);
        now += 11000;
        both_examined(job, waits(0), waits(1), now);
        said = told(job);
    }
    CHECK(looks == 3);
    CHECK(said.starts_with("the job hangs: all wait for each other in step (train.py:7)"));
}

TEST_CASE("a rank whose part has ended while others wait is at fault") {
    JobStateMachine job(settings());
    job.ended(1, 0, {.ranks = 1, .rank_numbers = {1}});
    job.still(0, 0);
    CHECK(text(job.decide(0)) == "0:examine");
    job.examined(0, 0, {waits(0)});
    const auto orders = job.decide(11000);
    REQUIRE_FALSE(orders.empty());
    CHECK(orders[0].command.hang->cause == "ended");
    CHECK(orders[0].command.hang->node == "node-1");
    CHECK(orders[0].command.hang->rank == 1);
    CHECK(orders[0].command.hang->restart_helps == "no");
}

TEST_CASE("where it is acted on, a restart follows if it helps, and the end if it does not") {
    for (const bool helps : {true, false}) {
        JobStateMachine job(settings(true, 1));
        both_still(job);
        job.decide(0);
        auto other = waits(1);
        other.threads[0].frames[1].line = 9;
        both_examined(job, waits(0), helps ? is_stopped(1) : other, 11000);
        CHECK(job.wake_at_ms().has_value());
        const auto orders = job.decide(11001);
        CHECK(text(orders) == (helps ? "0:halt 1:halt" : "0:stop 1:stop"));
        CHECK(job.first_failure()->finding.ends_with("(a restart does not help)") == !helps);
        CHECK(job.first_failure()->code == 124);
    }
}

TEST_CASE("the node at fault is passed over where another one is spare") {
    auto policy = settings(true, 1);
    policy.parts.push_back({.node = "node-2", .ranks = 1});
    policy.members = {0, 1};
    policy.min_nodes = 2;
    policy.relaunch = "{}";
    JobStateMachine job(policy, [](const wire::JobPolicy& now) -> Result<std::vector<wire::JobStart>> {
        return std::vector<wire::JobStart>(3, {.policy = now});
    });
    both_still(job);
    job.decide(0);
    job.examined(0, 0, {waits(0)});
    job.examined(1, 0, {is_stopped(1)});
    CHECK(text(job.decide(11000)) == "0:hang 1:hang 2:hang 1:stop 0:halt 2:halt");
    CHECK(told(job).find(
              "node-1: lost: the job hangs for it: attempt 2 of 2 begins with node-2 in its place") !=
          std::string::npos);
    job.ended(0, 0, {.stopped = true});
    job.ended(2, 0, {.stopped = true});
    job.decide(12000);
    CHECK_FALSE(job.may_run(13000)); // its ranks may be there
    job.exited(1, {.stopped = true});
    CHECK(job.may_run(13000));
    CHECK(text(job.decide(13000)) == "0:begin 2:begin");
}

TEST_CASE("one part is asked for NCCL's RAS, and the next one where that says nothing") {
    JobStateMachine job(settings());
    both_still(job);
    std::vector<std::size_t> asked;
    for (std::int64_t now = 0; now < 4 * 11000; now += 11000) {
        for (const auto& order : job.decide(now)) {
            if (order.command.asks_ras) {
                asked.push_back(order.part);
            }
        }
        const bool says = !asked.empty() && asked.back() == 1;
        job.examined(0, 0, {waits(0)}, {.problem = "nobody listens"});
        job.examined(1, 0, {waits(1)}, {.version = says ? "2.30.7" : ""});
        job.decide(now + 10999);
    }
    CHECK(asked == std::vector<std::size_t>{0, 1, 1});
}

TEST_CASE("who is behind by NCCL's RAS is told once that has lasted") {
    JobStateMachine job(settings());
    both_still(job);
    wire::RasReport ras{
        .version = "2.30.7",
        .asked_ms = 11000,
        .ranks = {{.rank = 1, .size = 9, .host = "10.0.0.2", .pid = 9, .operation = "AllReduce", .most = 1}}};
    std::int64_t now = 0;
    std::string said;
    int looks = 0;
    while (said.empty() && ++looks < 8) {
        job.decide(now);
        now += 11000;
        job.examined(0, 0, {waits(0)}, ras, {.addresses = {"127.0.0.1", "10.0.0.1"}});
        job.examined(1, 0, {waits(1)}, {}, {.addresses = {"127.0.0.1", "10.0.0.2"}});
        job.decide(now);
        said = told(job);
    }
    CHECK(looks == 3);
    CHECK(said.starts_with("the job hangs: rank 1 has launched 0 AllReduce of 1; no count moved in 33 s"));
}

TEST_CASE("a GPU that a part has found to be faulty is told with its node") {
    JobStateMachine job(settings());
    both_still(job);
    std::int64_t now = 0;
    std::string said;
    for (int looks = 0; said.empty() && looks < 8; ++looks) {
        job.decide(now);
        now += 11000;
        job.examined(0, 0, {waits(0)});
        job.examined(1, 0, {waits(1)}, {}, {.gpu_faults = {"GPU 3 is faulty"}});
        const auto orders = job.decide(now);
        said = told(job);
        if (!said.empty()) {
            CHECK(orders[0].command.hang->cause == "gpu_fault");
            CHECK(orders[0].command.hang->node == "node-1");
        }
    }
    CHECK(said.starts_with("the job hangs: node-1: GPU 3 is faulty; others wait in all_reduce"));
}

TEST_CASE("nobody is asked where that is off, and a spare is not waited for") {
    auto off = settings();
    off.suspect_ms = 0;
    JobStateMachine job(off);
    both_still(job);
    CHECK(job.decide(0).empty());
    auto spare = settings();
    spare.members = {0};
    JobStateMachine other(spare);
    other.still(0, 0);
    CHECK(text(other.decide(0)) == "0:examine");
}

} // namespace hang_test

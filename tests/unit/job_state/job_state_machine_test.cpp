#include "shared/job_state/job_state_machine.hpp"
#include "unit/job_state/told.hpp"

#include <doctest/doctest.h>

namespace job_state_machine_test {

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

wire::JobPolicy settings(int parts, int max_restarts = 0) {
    wire::JobPolicy made{.max_restarts = max_restarts, .backoff_ms = 1000, .grace_ms = 500};
    for (int i = 0; i < parts; ++i) {
        made.parts.push_back({.node = "node-" + std::to_string(i)});
    }
    return made;
}

// "1:halt#0 2:halt#0": who is told what, with the attempt where the order bears one.
std::string text(const std::vector<JobStateMachine::Order>& orders) {
    std::string all;
    for (const auto& [part, command] : orders) {
        const auto name = command.type == Type::stop     ? "stop/" + std::to_string(command.grace_ms)
                          : command.type == Type::halt   ? "halt#" + std::to_string(command.attempt)
                          : command.type == Type::begin  ? "begin#" + std::to_string(command.attempt)
                          : command.type == Type::report ? "report#" + std::to_string(command.attempt)
                          : command.type == Type::rest   ? "rest#" + std::to_string(command.attempt)
                          : command.type == Type::over   ? "over"
                                                         : "?";
        all += (all.empty() ? "" : " ") + std::to_string(part) + ":" + name;
    }
    return all;
}

wire::JobResult stopped(int attempt = 0) {
    return {.code = 143, .signal = 15, .stopped = true, .reason = "stop", .attempt = attempt};
}

} // namespace

TEST_CASE("parts are told that the job is over when the last leader has ended") {
    JobStateMachine job(settings(2));
    CHECK(text(job.decide(0)).empty());
    job.ended(0, 0, {});
    CHECK(text(job.decide(0)).empty());
    job.ended(1, 0, {});
    CHECK(text(job.decide(0)) == "0:over 1:over");
    CHECK(text(job.decide(0)).empty());
    job.exited(0, {});
    CHECK_FALSE(job.all_gone());
    CHECK(job.alone(1));
    job.exited(1, {});
    CHECK(job.all_gone());
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("parts that only support others are not waited for, and their own end says nothing") {
    auto with_support = settings(2);
    with_support.parts[1].hosts_remote_ranks = true;
    JobStateMachine job(with_support);
    job.ended(0, 0, {});
    CHECK(text(job.decide(0)) == "0:over 1:over");
    job.exited(1, {.code = 137, .stopped = true, .reason = "over"});
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("the first failure stops every part, and every part learns of it") {
    JobStateMachine job(settings(3));
    job.rank_failed(2, 0, {.rank = 5, .code = 7});
    const auto orders = job.decide(0);
    CHECK(text(orders) == "0:stop/500 1:stop/500 2:stop/500");
    CHECK(orders[0].command.first->node == "node-2");
    CHECK(orders[0].command.first->rank == 5);
    job.exited(0, stopped());
    job.exited(1, stopped());
    job.rank_failed(1, 0, {.rank = 2, .code = 1});
    job.exited(2, {.code = 7, .failures = {{.rank = 5, .code = 7}}});
    CHECK(text(job.decide(0)).empty());
    CHECK(job.first_failure()->node == "node-2");
}

TEST_CASE("a rank explains its launcher's failure, also when it is heard of later") {
    JobStateMachine job(settings(2));
    job.ended(0, 0, {.code = 1});
    CHECK(text(job.decide(0)) == "0:stop/500 1:stop/500");
    job.rank_failed(1, 0, {.rank = 3, .code = 7});
    CHECK(job.first_failure()->rank == 3);
    job.rank_failed(1, 0, {.rank = 2, .code = 9});
    CHECK(job.first_failure()->rank == 3);
}

TEST_CASE("a rank's failure that arrives behind the last end still counts") {
    JobStateMachine job(settings(2));
    job.ended(0, 0, {});
    job.ended(1, 0, {});
    job.decide(0);
    job.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(job.first_failure()->code == 7);
}

TEST_CASE("with restarts left a failed attempt is halted, and begun anew after a pause that doubles") {
    JobStateMachine job(settings(2, 2));
    job.rank_failed(0, 0, {.rank = 0, .code = 7});
    CHECK(text(job.decide(100)) == "0:halt#0 1:halt#0");
    CHECK(told(job) == "node-0: rank 0 exited with 7: attempt 2 of 3 begins in 1 s");
    CHECK(told(job).empty());
    job.ended(0, 0, stopped());
    CHECK(text(job.decide(200)).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.ended(1, 0, stopped());
    CHECK(text(job.decide(300)).empty());
    CHECK(job.wake_at_ms() == 1300);
    CHECK(text(job.decide(1299)).empty());
    CHECK(text(job.decide(1300)) == "0:begin#1 1:begin#1");
    CHECK_FALSE(job.first_failure().has_value());

    job.ended(1, 0, stopped()); // of the attempt before, on a stream that was taken up again
    CHECK(text(job.decide(1300)).empty());
    job.rank_failed(1, 1, {.rank = 1, .code = 8});
    CHECK(text(job.decide(1400)) == "0:halt#1 1:halt#1");
    CHECK(told(job) == "node-1: rank 1 exited with 8: attempt 3 of 3 begins in 2 s");
    job.ended(0, 1, stopped(1));
    job.ended(1, 1, stopped(1));
    job.decide(1500);
    CHECK(text(job.decide(3500)) == "0:begin#2 1:begin#2");
    job.rank_failed(1, 2, {.rank = 1, .code = 9});
    CHECK(text(job.decide(3600)) == "0:stop/500 1:stop/500"); // none left
    CHECK(told(job) == "node-1: rank 1 exited with 9: the job is stopped everywhere");
    CHECK(job.first_failure()->code == 9);
}

TEST_CASE(
    "a rank that had ended with 0 is behind a connection that another one lost, and behind nothing else") {
    const auto failure_of = [](const std::string& tail, bool is_late) {
        JobStateMachine job(settings(2));
        const auto done = [&job] { job.rank_done(0, 0, 1); };
        if (!is_late) {
            done();
        }
        job.rank_failed(1, 0, {.rank = 2, .code = 1, .tail = tail});
        if (is_late) {
            done();
        }
        return *job.first_failure();
    };
    const std::string closed =
        "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:1";
    const auto early = failure_of(closed, false);
    CHECK(early.finding == "rank 1 on node-0 had ended with exit code 0 while others waited for it: node-1: "
                           "rank 2 exited with 1");
    CHECK(early.node == "node-0");
    CHECK(early.rank == 1);
    CHECK(early.code == 1);
    CHECK(early.tail == closed);
    CHECK_FALSE(early.advice.empty());
    CHECK(failure_of("ncclRemoteError: a remote process exited", false).rank == 1);
    CHECK(failure_of(closed, true).rank == 2);
    CHECK(failure_of("ValueError: Connection closed by peer of a database", false).rank == 2);
}

TEST_CASE(
    "a rank that failed by itself is the failure, though one that lost its connection was heard first") {
    const wire::JobFailure closed{.rank = 0, .code = 1, .tail = "gloo: Connection closed by peer"};
    const auto after = [&](const wire::JobFailure& failure) {
        JobStateMachine job(settings(2));
        job.rank_failed(0, 0, closed);
        job.decide(0);
        job.rank_failed(1, 0, failure);
        return job.first_failure()->rank;
    };
    CHECK(after({.rank = 2, .code = 139, .signal = SIGSEGV}) == 2);
    CHECK(after({.rank = 2, .code = 137, .signal = SIGKILL, .oom = true}) == 2);
    CHECK(after({.rank = 2, .code = 137, .signal = SIGKILL}) == 0); // as it was told to
    CHECK(after({.rank = 2, .code = 143, .signal = SIGTERM}) == 0);
    const std::string traced = "Traceback (most recent call last):\n";
    CHECK(after({.rank = 2, .code = 1, .tail = traced + "ValueError: 7"}) == 2);
    CHECK(after({.rank = 2, .code = 1, .tail = traced + "KeyboardInterrupt"}) == 0);
    CHECK(after({.rank = 2, .code = 1, .tail = traced + "killed by signal: Terminated"}) == 0);
    CHECK(after({.rank = 2, .code = 1, .tail = traced + closed.tail}) == 0);
    CHECK(after({.rank = 2, .code = 1, .tail = "bye"}) == 0); // perhaps as it was told to
}

TEST_CASE("a rank that had ended with 0 in the attempt before is behind nothing of this one") {
    JobStateMachine job(settings(2, 1));
    job.rank_done(0, 0, 1);
    job.rank_failed(1, 0, {.rank = 2, .code = 7});
    job.decide(0);
    job.ended(0, 0, stopped());
    job.ended(1, 0, stopped());
    job.decide(0);
    job.decide(1000);
    REQUIRE(job.attempt() == 1);
    job.rank_failed(1, 1, {.rank = 2, .code = 1, .tail = "gloo: Connection closed by peer"});
    CHECK(job.first_failure()->rank == 2);
}

TEST_CASE("a part that had ended before the failure sweeps up before the next attempt") {
    JobStateMachine job(settings(2, 1));
    job.ended(0, 0, {});
    job.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(text(job.decide(0)) == "0:halt#0 1:halt#0");
    job.ended(1, 0, stopped());
    job.decide(0);
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.ended(0, 0, {});
    job.decide(0);
    CHECK(job.wake_at_ms() == 1000);
}

TEST_CASE("an interrupt stops with grace, a second one without, and no attempt follows") {
    JobStateMachine job(settings(2, 5));
    job.interrupted();
    CHECK(text(job.decide(0)) == "0:stop/500 1:stop/500");
    job.exited(0, stopped());
    job.interrupted();
    CHECK(text(job.decide(0)) == "1:stop/0");
    job.interrupted();
    CHECK(text(job.decide(0)).empty());
    job.exited(1, {.code = 137, .stopped = true});
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("what has started ranks is ended when no part has one any more, whoever has ended the parts") {
    JobStateMachine job(settings(3));
    job.ranks_gone(0, 0);
    CHECK(text(job.decide(0)).empty());
    job.exited(1, {.stopped = true, .reason = "stop"});
    CHECK(text(job.decide(0)) == "0:stop/500 2:stop/500"); // this one had no need to wait
    job.ranks_gone(2, 0);
    CHECK(text(job.decide(0)) == "0:rest#0 2:rest#0");
    CHECK(text(job.decide(0)).empty());
}

TEST_CASE("so it is before a restart, and in each attempt") {
    JobStateMachine job(settings(2, 2));
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto number = std::to_string(attempt);
        job.rank_failed(1, attempt, {.rank = 3, .code = 7});
        CHECK(text(job.decide(0)) == "0:halt#" + number + " 1:halt#" + number);
        job.ranks_gone(1, attempt);
        CHECK(text(job.decide(0)).empty());
        job.ranks_gone(0, attempt);
        CHECK(text(job.decide(0)) == "0:rest#" + number + " 1:rest#" + number);
        job.ended(0, attempt, stopped(attempt));
        job.ended(1, attempt, stopped(attempt));
        CHECK(text(job.decide(0)).empty());
        CHECK(text(job.decide(10'000)) ==
              "0:begin#" + std::to_string(attempt + 1) + " 1:begin#" + std::to_string(attempt + 1));
    }
}

TEST_CASE("a lost part ends the job, restarts or not") {
    JobStateMachine job(settings(2, 3));
    CHECK(job.lost(1, "silence", std::nullopt, wire::JobFailure{.code = 125, .finding = "silence"}));
    const auto orders = job.decide(0);
    CHECK(text(orders) == "0:stop/500");
    CHECK(orders[0].command.first->node == "node-1");
    job.exited(0, stopped());
    CHECK(job.all_gone());
}

TEST_CASE("a part that was lost after it had ended owed only its farewell") {
    JobStateMachine job(settings(2));
    job.ended(0, 0, {});
    job.ended(1, 0, {});
    job.decide(0);
    CHECK_FALSE(job.lost(1, "gone", std::nullopt));
    CHECK(text(job.decide(0)).empty());
}

TEST_CASE("a part that somebody else has stopped takes the others with it") {
    JobStateMachine job(settings(2, 3));
    job.exited(1, stopped());
    CHECK(text(job.decide(0)) == "0:stop/500");
    CHECK_FALSE(job.first_failure().has_value()); // it has not failed
}

TEST_CASE("an attempt that another coordinator has begun is taken over") {
    JobStateMachine job(settings(2, 3));
    job.rank_failed(0, 0, {.rank = 0, .code = 7});
    job.started(0, 2);
    job.started(1, 2);
    CHECK(job.attempt() == 2);
    CHECK_FALSE(job.first_failure().has_value());
    CHECK(job.all_started());
    CHECK(text(job.decide(0)).empty());
}

TEST_CASE("ranks that a launcher has not begun are missed at the end") {
    auto ranks = settings(2);
    ranks.parts[0].ranks = ranks.parts[1].ranks = 2;
    ranks.parts[1].hosts_remote_ranks = true;
    JobStateMachine job(ranks);
    job.ended(0, 0, {.ranks = 2});
    job.decide(0);
    CHECK(job.missing_ranks() == 0); // node-1 has not told
    job.exited(1, {.ranks = 1, .stopped = true});
    CHECK(job.missing_ranks() == 1); // as its coordinator sees it, which lives on node-0
    job.exited(0, {.ranks = 2});
    CHECK(job.missing_ranks() == 1);
    CHECK(job.wanted_ranks() == 4);
}

TEST_CASE("a rank that has run on two nodes is found at the end, when all have ended well") {
    auto ranks = settings(2);
    ranks.parts[0].ranks = ranks.parts[1].ranks = 2;
    const auto end = [&](std::vector<int> second, int code = 0) {
        JobStateMachine job(ranks);
        job.ended(0, 0, {.ranks = 2, .rank_numbers = {0, 1}});
        job.decide(0);
        CHECK_FALSE(job.doubled_rank().has_value()); // node-1 has not told
        job.exited(1, {.code = code, .ranks = 2, .rank_numbers = std::move(second)});
        job.exited(0, {.ranks = 2, .rank_numbers = {0, 1}});
        return job.doubled_rank();
    };
    const auto doubled = end({1, 2});
    REQUIRE(doubled.has_value());
    CHECK(doubled->node == "node-1");
    CHECK(doubled->code == 125);
    CHECK(doubled->finding.starts_with("rank 1 was started on node-0 and on node-1: "));
    CHECK_FALSE(end({2, 3}).has_value());
    CHECK_FALSE(end({}).has_value());
    CHECK_FALSE(end({0, 1}, 7).has_value()); // it has failed otherwise
}

} // namespace job_state_machine_test

#include "shared/job_state/job_state_machine.hpp"
#include "unit/job_state/told.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace lost_nodes_test {

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

// What shared/launch/relaunch.hpp does, in small: those of the members run "rank N".
Result<std::vector<wire::JobStart>> relaunch_all(const wire::JobPolicy& before) {
    auto job = before;
    std::vector<wire::JobStart> starts(job.parts.size());
    for (std::size_t i = 0; i < job.parts.size(); ++i) {
        const auto place = std::ranges::find(job.members, static_cast<int>(i));
        job.parts[i].hosts_remote_ranks = place == job.members.end();
        job.parts[i].ranks = job.parts[i].hosts_remote_ranks ? 0 : 1;
        if (!job.parts[i].hosts_remote_ranks) {
            starts[i].argv = {"rank", std::to_string(place - job.members.begin())};
        }
    }
    for (auto& start : starts) {
        start.policy = job;
    }
    return starts;
}

wire::JobPolicy settings(int nodes, int spares, int min_nodes, int max_restarts) {
    wire::JobPolicy made{.max_restarts = max_restarts, .backoff_ms = 1000, .grace_ms = 500};
    for (int i = 0; i < nodes + spares; ++i) {
        made.parts.push_back({.node = "node-" + std::to_string(i), .hosts_remote_ranks = i >= nodes});
        if (i < nodes) {
            made.members.push_back(i);
        }
    }
    made.min_nodes = min_nodes;
    made.relaunch = "{}";
    return made;
}

// "0:halt#0 2:begin#1 rank 1".
std::string text(const std::vector<JobStateMachine::Order>& orders) {
    std::string all;
    for (const auto& [part, command] : orders) {
        all += (all.empty() ? "" : " ") + std::to_string(part) + ":";
        all += command.type == Type::stop    ? "stop"
               : command.type == Type::halt  ? "halt#" + std::to_string(command.attempt)
               : command.type == Type::begin ? "begin#" + std::to_string(command.attempt)
               : command.type == Type::over  ? "over"
                                             : "?";
        for (const auto& word : command.start ? command.start->argv : std::vector<std::string>()) {
            all += " " + word;
        }
    }
    return all;
}

wire::JobResult halted(int attempt = 0) {
    return {.code = 143, .signal = 15, .stopped = true, .reason = "stop", .attempt = attempt};
}

} // namespace

TEST_CASE("a lost node is left out, and ranks are numbered anew") {
    JobStateMachine job(settings(3, 0, 2, 3), relaunch_all);
    CHECK_FALSE(job.lost(1, "gone", std::nullopt));
    CHECK(told(job) == "node-1: lost: gone: attempt 2 of 4 begins without it on 2 nodes in 1 s");
    CHECK(text(job.decide(0)) == "0:halt#0 2:halt#0");
    CHECK(told(job).empty()); // nothing has failed
    job.ended(0, 0, halted());
    job.ended(2, 0, halted());
    CHECK(text(job.decide(100)).empty());
    CHECK(job.wake_at_ms() == 1100);
    CHECK(text(job.decide(1100)) == "0:begin#1 rank 0 2:begin#1 rank 1");
    CHECK(job.settings().parts[1].lost);
    CHECK(job.wanted_ranks() == 2);
    job.started(0, 1);
    CHECK_FALSE(job.all_started());
    job.started(2, 1);
    CHECK(job.all_started());
    job.ended(0, 1, {.ranks = 1, .attempt = 1});
    job.ended(2, 1, {.ranks = 1, .attempt = 1});
    CHECK(text(job.decide(1200)) == "0:over 2:over");
    job.exited(0, {.ranks = 1, .attempt = 1});
    job.exited(2, {.ranks = 1, .attempt = 1});
    CHECK(job.all_gone());
    CHECK(job.missing_ranks() == 0);
    CHECK_FALSE(job.first_failure().has_value());
}

TEST_CASE("nothing begins before the ranks of a node that fell silent have surely ended") {
    JobStateMachine job(settings(3, 0, 1, 3), relaunch_all, 4000);
    CHECK_FALSE(job.lost(1, "silence", 1000));
    CHECK(told(job) ==
          "node-1: lost: silence: attempt 2 of 4 begins without it on 2 nodes, once its ranks have ended");
    job.decide(5000);
    job.ended(0, 0, halted());
    job.ended(2, 0, halted());
    CHECK(text(job.decide(5100)).empty());
    CHECK(told(job) ==
          "node-1: does not answer: its ranks may run for 4.4 s more, and attempt 2 of 4 waits for that");
    CHECK(job.wake_at_ms() == 9500); // heard of, lease, grace, and a lease for words on their way
    CHECK_FALSE(job.may_run(9499));
    CHECK(text(job.decide(9499)).empty());
    CHECK(told(job).empty());
    CHECK_FALSE(job.lost(2, "silence", 9400)); // in the pause
    told(job);
    CHECK(text(job.decide(9500)).empty());
    CHECK(told(job) ==
          "node-2: does not answer: its ranks may run for 8.4 s more, and attempt 2 of 4 waits for that");
    CHECK(text(job.decide(17900)) == "0:begin#1 rank 0");
    job.rank_failed(0, 1, {.rank = 0, .code = 7});
    job.decide(18000);
    job.ended(0, 1, halted(1));
    job.decide(18000);
    CHECK(job.wake_at_ms() == 20000); // no longer than the backoff, from now on
}

TEST_CASE("it is waited five seconds at most for words that are on their way, and for no node that has said "
          "that it is gone") {
    CHECK(ranks_end_ms(0, 30000, 10000) == 45000);
    CHECK(ranks_end_ms(0, 1000, 10000) == 12000);
    JobStateMachine job(settings(3, 0, 1, 3), relaunch_all);
    job.exited(1, {.code = 143, .stopped = true, .reason = "lease"});
    CHECK_FALSE(job.lost(2, "its container does not run", std::nullopt));
    CHECK(text(job.decide(0)) == "0:halt#0");
    job.ended(0, 0, halted());
    job.decide(0);
    CHECK(job.wake_at_ms() == 1000);
}

TEST_CASE("who takes over waits for the nodes that the one before it had lost") {
    auto known = settings(4, 0, 1, 3);
    known.parts[3].lost = true;
    known.members = {0, 1, 2};
    JobStateMachine job(known, relaunch_all, 4000);
    job.take_over(1, 0, 0, "gone", 100000);
    told(job);
    job.decide(100000);
    job.ended(1, 0, halted());
    job.ended(2, 0, halted());
    job.decide(100000);
    const std::string waits =
        "does not answer: its ranks may run for 4.5 s more, and attempt 2 of 4 waits for that";
    CHECK(told(job) == "node-0: " + waits + "; node-3: " + waits);
    CHECK(text(job.decide(104499)).empty());
    CHECK(text(job.decide(104500)) == "1:begin#1 rank 0 2:begin#1 rank 1");
}

TEST_CASE("the first spare takes the lost node's place, and the others keep their ranks") {
    JobStateMachine job(settings(3, 2, 3, 2), relaunch_all);
    CHECK(job.is_spare(3));
    CHECK(job.is_spare(4));
    CHECK_FALSE(job.lost(0, "gone", std::nullopt));
    CHECK(told(job) == "node-0: lost: gone: attempt 2 of 3 begins with node-3 in its place in 1 s");
    CHECK_FALSE(job.is_spare(3));
    CHECK(text(job.decide(0)) == "1:halt#0 2:halt#0 3:halt#0 4:halt#0");
    for (const std::size_t part : {1U, 2U, 3U, 4U}) {
        job.ended(part, 0, halted());
    }
    job.decide(0);
    CHECK(text(job.decide(1000)) == "1:begin#1 rank 1 2:begin#1 rank 2 3:begin#1 rank 0 4:begin#1");
}

TEST_CASE("a lost spare takes nothing with it") {
    JobStateMachine job(settings(2, 2, 2, 2), relaunch_all);
    CHECK_FALSE(job.lost(2, "gone", std::nullopt));
    CHECK(told(job) == "node-2: lost: gone: it was spare, the job goes on; spare nodes left: 1");
    CHECK(text(job.decide(0)).empty());
    CHECK_FALSE(job.lost(1, "gone", std::nullopt));
    CHECK(told(job) == "node-1: lost: gone: attempt 2 of 3 begins with node-3 in its place in 1 s");
}

TEST_CASE("with too few nodes left the job is stopped") {
    JobStateMachine job(settings(2, 0, 2, 3), relaunch_all);
    CHECK(job.lost(1, "silence", std::nullopt, wire::JobFailure{.code = 125, .finding = "silence"}));
    CHECK(told(job) ==
          "node-1: lost: silence: the job is stopped everywhere: 1 node is left, and it needs 2");
    CHECK(text(job.decide(0)) == "0:stop");
    CHECK(told(job).empty()); // once is enough
    CHECK(job.first_failure()->node == "node-1");
    CHECK_FALSE(job.settings().parts[1].lost);
}

TEST_CASE("with no restart left the job is stopped") {
    JobStateMachine job(settings(3, 0, 1, 0), relaunch_all);
    CHECK(job.lost(1, "gone", std::nullopt));
    CHECK(told(job) ==
          "node-1: lost: gone: the job is stopped everywhere: no restarts are left (--max-restarts 0)");
    CHECK(text(job.decide(0)) == "0:stop 2:stop");
    CHECK(told(job).empty());
}

TEST_CASE("a node that is lost while the others are being halted costs no further restart") {
    JobStateMachine job(settings(3, 0, 1, 1), relaunch_all);
    job.rank_failed(0, 0, {.rank = 0, .code = 1}); // because its peer is gone
    CHECK(text(job.decide(0)) == "0:halt#0 1:halt#0 2:halt#0");
    CHECK(told(job) == "node-0: rank 0 exited with 1: attempt 2 of 2 begins in 1 s");
    job.ended(0, 0, halted());
    job.ended(2, 0, halted());
    CHECK(text(job.decide(0)).empty());
    CHECK_FALSE(job.wake_at_ms().has_value()); // node-1 has not said that nothing is left there
    CHECK_FALSE(job.lost(1, "gone", std::nullopt));
    job.decide(0);
    CHECK_FALSE(job.lost(0, "gone", std::nullopt)); // in the pause
    CHECK(told(job) == "node-1: lost: gone: attempt 2 of 2 begins without it on 2 nodes in 1 s; "
                       "node-0: lost: gone: attempt 2 of 2 begins without it on 1 node in 1 s");
    CHECK(text(job.decide(1000)) == "2:begin#1 rank 0");
}

TEST_CASE("a rank's failure leaves no node out") {
    JobStateMachine job(settings(2, 1, 1, 1), relaunch_all);
    job.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(text(job.decide(0)) == "0:halt#0 1:halt#0 2:halt#0");
    CHECK(told(job) == "node-1: rank 1 exited with 7: attempt 2 of 2 begins in 1 s");
    for (const std::size_t part : {0U, 1U, 2U}) {
        job.ended(part, 0, halted());
    }
    job.decide(0);
    const auto orders = job.decide(1000);
    CHECK(text(orders) == "0:begin#1 1:begin#1 2:begin#1"); // what they have
    CHECK(told(job).empty());
}

TEST_CASE(
    "a part that ended by its lease, or with its container, is lost; one that was stopped ends the job") {
    for (const auto& [reason, why] : std::vector<std::pair<const char*, std::string>>{
             {"lease", "it has heard of no coordinator for its lease"},
             {"shutdown", "its container was stopped"},
             {"lost", "its supervisor was killed"}}) {
        JobStateMachine job(settings(2, 0, 1, 1), relaunch_all);
        job.exited(1, {.code = 143, .stopped = true, .reason = reason});
        CHECK(told(job) == "node-1: lost: " + why + ": attempt 2 of 2 begins without it on 1 node in 1 s");
        CHECK(text(job.decide(0)) == "0:halt#0");
    }
    JobStateMachine job(settings(2, 0, 1, 1), relaunch_all);
    job.exited(1, halted());
    CHECK(text(job.decide(0)) == "0:stop");
}

TEST_CASE("nothing is begun anew over a loss once the job is interrupted or over") {
    JobStateMachine interrupted(settings(2, 1, 1, 1), relaunch_all);
    interrupted.interrupted();
    CHECK(interrupted.lost(1, "gone", std::nullopt));
    CHECK(told(interrupted).empty());
    CHECK(text(interrupted.decide(0)) == "0:stop 2:stop");

    JobStateMachine over(settings(2, 1, 1, 1), relaunch_all);
    over.ended(0, 0, {.ranks = 1});
    over.ended(1, 0, {.ranks = 1});
    CHECK(text(over.decide(0)) == "0:over 1:over 2:over");
    CHECK_FALSE(over.lost(1, "gone", std::nullopt));
    CHECK_FALSE(over.lost(2, "gone", std::nullopt));
    CHECK(told(over).empty());
    CHECK(text(over.decide(0)).empty());
}

TEST_CASE("a launch that cannot be made over the nodes that are left ends the job, and says why") {
    JobStateMachine job(settings(2, 0, 1, 1), [](const wire::JobPolicy&) {
        return Result<std::vector<wire::JobStart>>(Error{.message = "no port"});
    });
    job.lost(1, "gone", std::nullopt);
    job.decide(0);
    job.ended(0, 0, halted());
    job.decide(0);
    CHECK(text(job.decide(1000)) == "0:stop");
    CHECK(job.first_failure()->finding == "no port");
    CHECK(job.first_failure()->code == 125);
}

TEST_CASE("who carries the job after others knows whom it has lost") {
    auto known = settings(3, 0, 1, 3);
    known.parts[0].lost = true;
    known.members = {1, 2};
    JobStateMachine job(known, relaunch_all);
    CHECK(wire::coordinator_part(known) == 1);
    CHECK(wire::lost_nodes(known) == std::vector<std::string>{"node-0"});
    job.started(1, 1);
    job.started(2, 1);
    CHECK(job.all_started());
    CHECK_FALSE(job.lost(2, "gone", std::nullopt));
    CHECK(told(job) == "node-2: lost: gone: attempt 3 of 4 begins without it on 1 node in 2 s");
    CHECK(text(job.decide(0)) == "1:halt#1");
}

TEST_CASE(
    "who takes over breaks the attempt off, whatever attempt a part is in, and goes on without the former") {
    JobStateMachine job(settings(3, 1, 3, 3), relaunch_all);
    job.take_over(1, 0, 1, "nothing was heard of node-0 for 4 s", 0);
    CHECK(told(job) == "node-0: lost: nothing was heard of node-0 for 4 s: "
                       "attempt 3 of 4 begins with node-3 in its place, once its ranks have ended");
    const auto halts = job.decide(0);
    CHECK(text(halts) == "1:halt#1 2:halt#1 3:halt#1");
    CHECK(std::ranges::all_of(halts, [](const auto& order) { return order.command.takes_over; }));
    job.ended(1, 1, halted(1));
    job.ended(2, 0, halted(0)); // said before the order has come to it
    job.ended(3, 2, halted(2)); // an attempt that only this one knows of
    CHECK(text(job.decide(0)).empty());
    CHECK_FALSE(job.wake_at_ms().has_value());
    job.ended(2, 1, halted(1));
    job.ended(3, 1, halted(1));
    CHECK(text(job.decide(0)).empty());
    CHECK(job.wake_at_ms() == 5500); // the former one may have ordered something until now
    CHECK(told(job) ==
          "node-0: does not answer: its ranks may run for 5.5 s more, and attempt 3 of 4 waits for that");
    CHECK(text(job.decide(5499)).empty());
    CHECK(text(job.decide(5500)) == "1:begin#2 rank 1 2:begin#2 rank 2 3:begin#2 rank 0");
    for (const std::size_t part : {1U, 2U, 3U}) {
        job.ended(part, 2, {.ranks = 1, .attempt = 2});
    }
    CHECK(text(job.decide(3000)) == "1:over 2:over 3:over");
    job.exited(2, {.ranks = 1, .attempt = 2});
    job.exited(3, {.ranks = 1, .attempt = 2});
    CHECK(job.alone(1));
    CHECK(job.missing_ranks() == 0);
}

TEST_CASE("who takes over halts once only with that") {
    JobStateMachine job(settings(3, 0, 1, 3), relaunch_all);
    job.take_over(1, 0, 0, "gone", 0);
    CHECK(job.decide(0).front().command.takes_over);
    job.ended(1, 0, halted());
    job.ended(2, 0, halted());
    job.decide(0);
    job.decide(5500);
    job.rank_failed(1, 1, {.rank = 0, .code = 7});
    const auto halts = job.decide(6000);
    CHECK(text(halts) == "1:halt#1 2:halt#1");
    CHECK_FALSE(halts.front().command.takes_over);
}

TEST_CASE("in place of one that was spare, or was lost before, the job is begun anew too, if it may be") {
    for (const bool was_spare : {true, false}) {
        for (const int restarts : {1, 0}) {
            CAPTURE(was_spare);
            CAPTURE(restarts);
            auto policy = settings(3, 1, 2, restarts);
            const std::size_t former = was_spare ? 3 : 0;
            if (!was_spare) {
                policy.parts[0].lost = true;
                policy.members = {1, 2};
            }
            JobStateMachine job(policy, relaunch_all);
            job.take_over(1, former, 0, "gone", 0);
            told(job);
            const auto orders = text(job.decide(0));
            CHECK(orders == (restarts == 0 ? was_spare ? "0:stop 1:stop 2:stop" : "1:stop 2:stop 3:stop"
                             : was_spare   ? "0:halt#0 1:halt#0 2:halt#0"
                                           : "1:halt#0 2:halt#0 3:halt#0"));
            CHECK(job.first_failure().has_value() == (restarts == 0));
        }
    }
}

TEST_CASE("who takes over a job with too few nodes left stops it, and says why") {
    JobStateMachine job(settings(3, 0, 3, 3), relaunch_all);
    job.take_over(1, 0, 0, "nothing was heard of node-0 for 4 s", 0);
    CHECK(told(job) == "node-0: lost: nothing was heard of node-0 for 4 s: the job is stopped everywhere: "
                       "2 nodes are left, and it needs 3");
    CHECK(text(job.decide(0)) == "1:stop 2:stop");
    CHECK(job.first_failure()->finding == "nothing was heard of node-0 for 4 s");
}

} // namespace lost_nodes_test

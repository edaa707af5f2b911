#include "course/job_course.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

// What launch/relaunch.hpp does, in small: those of the crew run "rank N".
Result<std::vector<wire::JobStart>> relaunch_all(const wire::CourseSettings& before) {
    auto course = before;
    std::vector<wire::JobStart> starts(course.parts.size());
    for (std::size_t i = 0; i < course.parts.size(); ++i) {
        const auto place = std::ranges::find(course.crew, static_cast<int>(i));
        course.parts[i].supports = place == course.crew.end();
        course.parts[i].ranks = course.parts[i].supports ? 0 : 1;
        if (!course.parts[i].supports) {
            starts[i].argv = {"rank", std::to_string(place - course.crew.begin())};
        }
    }
    for (auto& start : starts) {
        start.course = course;
    }
    return starts;
}

wire::CourseSettings settings(int nodes, int spares, int min_nodes, int max_restarts) {
    wire::CourseSettings made{.max_restarts = max_restarts, .backoff_ms = 1000, .grace_ms = 500};
    for (int i = 0; i < nodes + spares; ++i) {
        made.parts.push_back({.node = "node-" + std::to_string(i), .supports = i >= nodes});
        if (i < nodes) {
            made.crew.push_back(i);
        }
    }
    made.min_nodes = min_nodes;
    made.relaunch = "{}";
    return made;
}

// "0:halt#0 2:begin#1 rank 1".
std::string text(const std::vector<JobCourse::Order>& orders) {
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

std::string words(JobCourse& course) {
    std::string all;
    for (const auto& loss : course.take_losses()) {
        all += (all.empty() ? "" : "; ") + course.settings().parts[loss.part].node + ": " +
               words_of(loss, course.settings());
    }
    return all;
}

wire::JobResult halted(int attempt = 0) {
    return {.code = 143, .signal = 15, .stopped = true, .reason = "stop", .attempt = attempt};
}

} // namespace

TEST_CASE("a lost node is left out, and ranks are numbered anew") {
    JobCourse course(settings(3, 0, 2, 3), relaunch_all);
    CHECK_FALSE(course.lost(1));
    CHECK(words(course) == "node-1: attempt 2 of 4 begins without it on 2 nodes in 1 s");
    CHECK(text(course.decide(0)) == "0:halt#0 2:halt#0");
    CHECK_FALSE(course.take_restart().has_value()); // nothing has failed
    course.ended(0, 0, halted());
    course.ended(2, 0, halted());
    CHECK(text(course.decide(100)).empty());
    CHECK(course.wake_at_ms() == 1100);
    CHECK(text(course.decide(1100)) == "0:begin#1 rank 0 2:begin#1 rank 1");
    CHECK(course.settings().parts[1].lost);
    CHECK(course.wanted_ranks() == 2);
    course.started(0, 1);
    CHECK_FALSE(course.all_started());
    course.started(2, 1);
    CHECK(course.all_started());
    course.ended(0, 1, {.ranks = 1, .attempt = 1});
    course.ended(2, 1, {.ranks = 1, .attempt = 1});
    CHECK(text(course.decide(1200)) == "0:over 2:over");
    course.exited(0, {.ranks = 1, .attempt = 1});
    course.exited(2, {.ranks = 1, .attempt = 1});
    CHECK(course.all_gone());
    CHECK(course.missing_ranks() == 0);
    CHECK_FALSE(course.first_failure().has_value());
}

TEST_CASE("the first spare takes the lost node's place, and the others keep their ranks") {
    JobCourse course(settings(3, 2, 3, 2), relaunch_all);
    CHECK(course.is_spare(3));
    CHECK(course.is_spare(4));
    CHECK_FALSE(course.lost(0));
    CHECK(words(course) == "node-0: attempt 2 of 3 begins with node-3 in its place in 1 s");
    CHECK_FALSE(course.is_spare(3));
    CHECK(text(course.decide(0)) == "1:halt#0 2:halt#0 3:halt#0 4:halt#0");
    for (const std::size_t part : {1U, 2U, 3U, 4U}) {
        course.ended(part, 0, halted());
    }
    course.decide(0);
    CHECK(text(course.decide(1000)) == "1:begin#1 rank 1 2:begin#1 rank 2 3:begin#1 rank 0 4:begin#1");
}

TEST_CASE("a lost spare takes nothing with it") {
    JobCourse course(settings(2, 2, 2, 2), relaunch_all);
    CHECK_FALSE(course.lost(2));
    CHECK(words(course) == "node-2: it was spare, the job goes on; spare nodes left: 1");
    CHECK(text(course.decide(0)).empty());
    CHECK_FALSE(course.lost(1));
    CHECK(words(course) == "node-1: attempt 2 of 3 begins with node-3 in its place in 1 s");
}

TEST_CASE("with too few nodes left the job is stopped") {
    JobCourse course(settings(2, 0, 2, 3), relaunch_all);
    CHECK(course.lost(1, wire::RankFailure{.code = 125, .tail = "silence"}));
    CHECK(words(course) == "node-1: the job is stopped everywhere: 1 node is left, and it needs 2");
    CHECK(text(course.decide(0)) == "0:stop");
    CHECK(course.first_failure()->node == "node-1");
    CHECK_FALSE(course.settings().parts[1].lost);
}

TEST_CASE("with no restart left the job is stopped") {
    JobCourse course(settings(3, 0, 1, 0), relaunch_all);
    CHECK(course.lost(1));
    CHECK(words(course) == "node-1: the job is stopped everywhere: no restart is left (--max-restarts 0)");
    CHECK(text(course.decide(0)) == "0:stop 2:stop");
}

TEST_CASE("a node that is lost while the others are being halted costs no further restart") {
    JobCourse course(settings(3, 0, 1, 1), relaunch_all);
    course.rank_failed(0, 0, {.rank = 0, .code = 1}); // because its peer is gone
    CHECK(text(course.decide(0)) == "0:halt#0 1:halt#0 2:halt#0");
    CHECK(course.take_restart()->attempt == 1);
    course.ended(0, 0, halted());
    course.ended(2, 0, halted());
    CHECK(text(course.decide(0)).empty());
    CHECK_FALSE(course.wake_at_ms().has_value()); // node-1 has not said that nothing is left there
    CHECK_FALSE(course.lost(1));
    course.decide(0);
    CHECK_FALSE(course.lost(0)); // in the pause
    CHECK(words(course) == "node-1: attempt 2 of 2 begins without it on 2 nodes in 1 s; "
                           "node-0: attempt 2 of 2 begins without it on 1 node in 1 s");
    CHECK(text(course.decide(1000)) == "2:begin#1 rank 0");
}

TEST_CASE("a rank's failure leaves no node out") {
    JobCourse course(settings(2, 1, 1, 1), relaunch_all);
    course.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(text(course.decide(0)) == "0:halt#0 1:halt#0 2:halt#0");
    for (const std::size_t part : {0U, 1U, 2U}) {
        course.ended(part, 0, halted());
    }
    course.decide(0);
    const auto orders = course.decide(1000);
    CHECK(text(orders) == "0:begin#1 1:begin#1 2:begin#1"); // what they have
    CHECK(words(course).empty());
}

TEST_CASE(
    "a part that ended by its lease, or with its container, is lost; one that was stopped ends the job") {
    for (const auto* reason : {"lease", "shutdown", "lost"}) {
        JobCourse course(settings(2, 0, 1, 1), relaunch_all);
        course.exited(1, {.code = 143, .stopped = true, .reason = reason});
        CHECK(words(course) == "node-1: attempt 2 of 2 begins without it on 1 node in 1 s");
        CHECK(text(course.decide(0)) == "0:halt#0");
    }
    JobCourse course(settings(2, 0, 1, 1), relaunch_all);
    course.exited(1, halted());
    CHECK(text(course.decide(0)) == "0:stop");
}

TEST_CASE("nothing is begun anew over a loss once the job is interrupted or over") {
    JobCourse interrupted(settings(2, 1, 1, 1), relaunch_all);
    interrupted.interrupted();
    CHECK(interrupted.lost(1));
    CHECK(words(interrupted).empty());
    CHECK(text(interrupted.decide(0)) == "0:stop 2:stop");

    JobCourse over(settings(2, 1, 1, 1), relaunch_all);
    over.ended(0, 0, {.ranks = 1});
    over.ended(1, 0, {.ranks = 1});
    CHECK(text(over.decide(0)) == "0:over 1:over 2:over");
    CHECK_FALSE(over.lost(1));
    CHECK_FALSE(over.lost(2));
    CHECK(words(over).empty());
    CHECK(text(over.decide(0)).empty());
}

TEST_CASE("a launch that cannot be made over the nodes that are left ends the job, and says why") {
    JobCourse course(settings(2, 0, 1, 1), [](const wire::CourseSettings&) {
        return Result<std::vector<wire::JobStart>>(Error{.message = "no port"});
    });
    course.lost(1);
    course.decide(0);
    course.ended(0, 0, halted());
    course.decide(0);
    CHECK(text(course.decide(1000)) == "0:stop");
    CHECK(course.first_failure()->failure.tail == "no port");
}

TEST_CASE("who carries the job after others knows whom it has lost") {
    auto known = settings(3, 0, 1, 3);
    known.parts[0].lost = true;
    known.crew = {1, 2};
    JobCourse course(known, relaunch_all);
    CHECK(wire::keeper_part(known) == 1);
    CHECK(wire::lost_nodes(known) == std::vector<std::string>{"node-0"});
    course.started(1, 1);
    course.started(2, 1);
    CHECK(course.all_started());
    CHECK_FALSE(course.lost(2));
    CHECK(words(course) == "node-2: attempt 3 of 4 begins without it on 1 node in 2 s");
    CHECK(text(course.decide(0)) == "1:halt#1");
}

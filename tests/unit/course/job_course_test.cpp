#include "course/job_course.hpp"

#include <doctest/doctest.h>

using namespace dockdist;

namespace {

using Type = wire::JobCommand::Type;

wire::CourseSettings settings(int parts, int max_restarts = 0) {
    wire::CourseSettings made{.max_restarts = max_restarts, .backoff_ms = 1000, .grace_ms = 500};
    for (int i = 0; i < parts; ++i) {
        made.parts.push_back({.node = "node-" + std::to_string(i)});
    }
    return made;
}

// "1:halt#0 2:halt#0": who is told what, with the attempt where the order bears one.
std::string text(const std::vector<JobCourse::Order>& orders) {
    std::string all;
    for (const auto& [part, command] : orders) {
        const auto name = command.type == Type::stop     ? "stop/" + std::to_string(command.grace_ms)
                          : command.type == Type::halt   ? "halt#" + std::to_string(command.attempt)
                          : command.type == Type::begin  ? "begin#" + std::to_string(command.attempt)
                          : command.type == Type::report ? "report#" + std::to_string(command.attempt)
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
    JobCourse course(settings(2));
    CHECK(text(course.decide(0)).empty());
    course.ended(0, 0, {});
    CHECK(text(course.decide(0)).empty());
    course.ended(1, 0, {});
    CHECK(text(course.decide(0)) == "0:over 1:over");
    CHECK(text(course.decide(0)).empty());
    course.exited(0, {});
    CHECK_FALSE(course.all_gone());
    CHECK(course.alone(1));
    course.exited(1, {});
    CHECK(course.all_gone());
    CHECK_FALSE(course.first_failure().has_value());
}

TEST_CASE("parts that only support others are not waited for, and their own end says nothing") {
    auto with_support = settings(2);
    with_support.parts[1].supports = true;
    JobCourse course(with_support);
    course.ended(0, 0, {});
    CHECK(text(course.decide(0)) == "0:over 1:over");
    course.exited(1, {.code = 137, .stopped = true, .reason = "over"});
    CHECK_FALSE(course.first_failure().has_value());
}

TEST_CASE("the first failure stops every part, and every part learns of it") {
    JobCourse course(settings(3));
    course.rank_failed(2, 0, {.rank = 5, .code = 7});
    const auto orders = course.decide(0);
    CHECK(text(orders) == "0:stop/500 1:stop/500 2:stop/500");
    CHECK(orders[0].command.first_node == "node-2");
    CHECK(orders[0].command.first.rank == 5);
    course.exited(0, stopped());
    course.exited(1, stopped());
    course.rank_failed(1, 0, {.rank = 2, .code = 1});
    course.exited(2, {.code = 7, .failures = {{.rank = 5, .code = 7}}});
    CHECK(text(course.decide(0)).empty());
    CHECK(course.first_failure()->node == "node-2");
}

TEST_CASE("a rank explains its launcher's failure, also when it is heard of later") {
    JobCourse course(settings(2));
    course.ended(0, 0, {.code = 1});
    CHECK(text(course.decide(0)) == "0:stop/500 1:stop/500");
    course.rank_failed(1, 0, {.rank = 3, .code = 7});
    CHECK(course.first_failure()->failure.rank == 3);
    course.rank_failed(1, 0, {.rank = 2, .code = 9});
    CHECK(course.first_failure()->failure.rank == 3);
}

TEST_CASE("a rank's failure that arrives behind the last end still counts") {
    JobCourse course(settings(2));
    course.ended(0, 0, {});
    course.ended(1, 0, {});
    course.decide(0);
    course.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(course.first_failure()->failure.code == 7);
}

TEST_CASE("with restarts left a failed attempt is halted, and begun anew after a pause that doubles") {
    JobCourse course(settings(2, 2));
    course.rank_failed(0, 0, {.rank = 0, .code = 7});
    CHECK(text(course.decide(100)) == "0:halt#0 1:halt#0");
    const auto restart = course.take_restart();
    REQUIRE(restart.has_value());
    CHECK(restart->attempt == 1);
    CHECK(restart->because.node == "node-0");
    CHECK(restart->in_ms == 1000);
    CHECK_FALSE(course.take_restart().has_value());
    course.ended(0, 0, stopped());
    CHECK(text(course.decide(200)).empty());
    CHECK_FALSE(course.wake_at_ms().has_value());
    course.ended(1, 0, stopped());
    CHECK(text(course.decide(300)).empty());
    CHECK(course.wake_at_ms() == 1300);
    CHECK(text(course.decide(1299)).empty());
    CHECK(text(course.decide(1300)) == "0:begin#1 1:begin#1");
    CHECK_FALSE(course.first_failure().has_value());

    course.ended(1, 0, stopped()); // of the attempt before, on a stream that was taken up again
    CHECK(text(course.decide(1300)).empty());
    course.rank_failed(1, 1, {.rank = 1, .code = 8});
    CHECK(text(course.decide(1400)) == "0:halt#1 1:halt#1");
    CHECK(course.take_restart()->in_ms == 2000);
    course.ended(0, 1, stopped(1));
    course.ended(1, 1, stopped(1));
    course.decide(1500);
    CHECK(text(course.decide(3500)) == "0:begin#2 1:begin#2");
    course.rank_failed(1, 2, {.rank = 1, .code = 9});
    CHECK(text(course.decide(3600)) == "0:stop/500 1:stop/500"); // none left
    CHECK(course.first_failure()->failure.code == 9);
}

TEST_CASE("a part that had ended before the failure sweeps up before the next attempt") {
    JobCourse course(settings(2, 1));
    course.ended(0, 0, {});
    course.rank_failed(1, 0, {.rank = 1, .code = 7});
    CHECK(text(course.decide(0)) == "0:halt#0 1:halt#0");
    course.ended(1, 0, stopped());
    course.decide(0);
    CHECK_FALSE(course.wake_at_ms().has_value());
    course.ended(0, 0, {});
    course.decide(0);
    CHECK(course.wake_at_ms() == 1000);
}

TEST_CASE("an interrupt stops with grace, a second one without, and no attempt follows") {
    JobCourse course(settings(2, 5));
    course.interrupted();
    CHECK(text(course.decide(0)) == "0:stop/500 1:stop/500");
    course.exited(0, stopped());
    course.interrupted();
    CHECK(text(course.decide(0)) == "1:stop/0");
    course.interrupted();
    CHECK(text(course.decide(0)).empty());
    course.exited(1, {.code = 137, .stopped = true});
    CHECK_FALSE(course.first_failure().has_value());
}

TEST_CASE("a lost part ends the job, restarts or not") {
    JobCourse course(settings(2, 3));
    CHECK(course.lost(1, wire::RankFailure{.code = 125, .tail = "silence"}));
    const auto orders = course.decide(0);
    CHECK(text(orders) == "0:stop/500");
    CHECK(orders[0].command.first_node == "node-1");
    course.exited(0, stopped());
    CHECK(course.all_gone());
}

TEST_CASE("a part that was lost after it had ended owed only its farewell") {
    JobCourse course(settings(2));
    course.ended(0, 0, {});
    course.ended(1, 0, {});
    course.decide(0);
    CHECK_FALSE(course.lost(1));
    CHECK(text(course.decide(0)).empty());
}

TEST_CASE("a part that somebody else has stopped takes the others with it") {
    JobCourse course(settings(2, 3));
    course.exited(1, stopped());
    CHECK(text(course.decide(0)) == "0:stop/500");
    CHECK_FALSE(course.first_failure().has_value()); // it has not failed
}

TEST_CASE("an attempt that another carrier has begun is taken over") {
    JobCourse course(settings(2, 3));
    course.rank_failed(0, 0, {.rank = 0, .code = 7});
    course.started(0, 2);
    course.started(1, 2);
    CHECK(course.attempt() == 2);
    CHECK_FALSE(course.first_failure().has_value());
    CHECK(course.all_started());
    CHECK(text(course.decide(0)).empty());
}

TEST_CASE("ranks that a launcher has not begun are missed at the end") {
    auto ranks = settings(2);
    ranks.parts[0].ranks = ranks.parts[1].ranks = 2;
    ranks.parts[1].supports = true;
    JobCourse course(ranks);
    course.ended(0, 0, {.ranks = 2});
    course.decide(0);
    CHECK(course.missing_ranks_but(0) == 0); // node-1 has not told
    course.exited(1, {.ranks = 1, .stopped = true});
    CHECK(course.missing_ranks_but(0) == 1);
    CHECK(course.missing_ranks() == 0);
    course.exited(0, {.ranks = 2});
    CHECK(course.missing_ranks() == 1);
    CHECK(course.wanted_ranks() == 4);
}

#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace attach_job_test {

using namespace dockdist;

TEST_CASE("a part that has ended goes when all have, and is told so") {
    FakeJob job(2);
    std::vector<std::string> told;
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            const auto start = co_await start_of(exec);
            CHECK(start.stays);
            CHECK(start.policy.parts.size() == 2);
            exec.out(started() + control({.type = wire::JobEvent::Type::ended, .result = {.code = 0}}));
            const auto line = co_await exec.read_line();
            told.push_back(line.value_or(""));
            exec.out(exited(0));
            co_return 0;
        });
    }
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK(told == std::vector<std::string>(2, R"({"type":"over"})"));
}

TEST_CASE("a failed attempt is halted everywhere and begun anew") {
    FakeJob job(2);
    job.options.max_restarts = 1;
    job.options.backoff = std::chrono::milliseconds(1);
    for (auto* engine : job.fakes) {
        const bool fails = engine == job.fakes[1];
        engine->on_exec("job start", [fails](FakeExec exec) -> Task<int> {
            using Type = wire::JobCommand::Type;
            co_await start_of(exec);
            exec.out(started());
            if (fails) {
                exec.out(
                    control({.type = wire::JobEvent::Type::rank_failed, .failure = {.rank = 3, .code = 7}}));
            }
            int attempt = 0;
            while (const auto line = co_await exec.read_line()) {
                const auto command = *wire::parse_job_command(*line);
                if (command.type == Type::halt) {
                    exec.out(control({.type = wire::JobEvent::Type::ended,
                                      .attempt = attempt,
                                      .result = {.code = 143, .stopped = true, .attempt = attempt}}));
                } else if (command.type == Type::begin) {
                    attempt = command.attempt;
                    exec.out(control({.type = wire::JobEvent::Type::started, .attempt = attempt}) +
                             control({.type = wire::JobEvent::Type::ended,
                                      .attempt = attempt,
                                      .result = {.code = 0, .attempt = attempt}}));
                } else if (command.type == Type::over) {
                    break;
                }
            }
            exec.out(control({.type = wire::JobEvent::Type::exited, .result = {.attempt = attempt}}));
            co_return 0;
        });
    }
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.attempts == 2);
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(job.events.texts ==
          std::vector<std::string>{"node-1: rank 3 exited with 7: attempt 2 of 2 begins in 0.001 s"});
}

TEST_CASE("a job is let go when every part has started and has agreed") {
    FakeJob job(2);
    job.options.detach = true;
    int detached = 0;
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            co_await start_of(exec);
            exec.out(started());
            const auto line = co_await exec.read_line();
            detached += wire::parse_job_command(*line)->type == wire::JobCommand::Type::detach;
            exec.out(control({.type = wire::JobEvent::Type::detached}));
            co_await exec.read_line(); // until the client goes
            co_return 0;
        });
    }
    const auto outcome = job.run();
    CHECK(outcome.detached);
    CHECK(outcome.errors.empty());
    CHECK(detached == 2);
}

namespace {

KnownJob known(const FakeJob& job, bool detached) {
    KnownJob made{.job = JobId("job-1")};
    for (const auto& node : job.nodes) {
        wire::JobSummary summary{.job = "job-1", .running = true, .detached = detached, .lease_ms = 30000};
        for (const auto& part : job.nodes) {
            summary.policy.parts.push_back({.node = part.name.str()});
        }
        made.parts.push_back({node, std::move(summary)});
    }
    return made;
}

// One node's part has failed; the other goes on until it is told.
void let_one_fail(FakeJob& job, std::vector<std::string>& commands) {
    job.fakes[0]->on_exec("job follow", [](FakeExec exec) -> Task<int> {
        exec.out(started() + output("one\n", 0) + exited(7));
        co_return 0;
    });
    job.fakes[1]->on_exec("job follow", [&commands](FakeExec exec) -> Task<int> {
        exec.out(started());
        if (const auto line = co_await exec.read_line()) {
            commands.push_back(nlohmann::json::parse(*line)["type"].get<std::string>());
        }
        exec.out(exited(0));
        co_return 0;
    });
}

} // namespace

TEST_CASE("who attaches to a job carries it") {
    FakeJob job(2);
    std::vector<std::string> commands;
    let_one_fail(job, commands);
    const auto outcome =
        run_task(job.io, attach_job(job.engines, known(job, false), {}, job.sink, job.events));
    CHECK(outcome.exit_code() == 7);
    CHECK(commands == std::vector<std::string>{"stop"});
    CHECK(job.sink.text["node-0"] == "one\n");
}

TEST_CASE("who attaches to a detached job only looks on, and holds its streams by pings") {
    FakeJob job(2);
    std::vector<std::string> commands;
    let_one_fail(job, commands);
    auto seen = known(job, true);
    seen.parts[0].summary.lease_ms = 30;
    const auto outcome = run_task(job.io, attach_job(job.engines, seen, {}, job.sink, job.events));
    CHECK(outcome.exit_code() == 7);
    CHECK(commands == std::vector<std::string>{"ping"});
}

} // namespace attach_job_test

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>

namespace lost_part_test {

using namespace dockdist;
using namespace std::chrono_literals;
using Order = wire::JobCommand::Type;

namespace {

// A job's only part.
struct OnePart {
    Result<wire::JobResult> run() {
        REQUIRE(run_task(job.io, part.open()).has_value());
        return run_task(job.io, part.run({.argv = {"train"}}, handlers));
    }

    FakeJob job{1};
    NodeJob part{*job.engines[0], job.nodes[0], {.job = "job-1"}};
    NodeJob::Handlers handlers{
        .output = [](int, StdStream, std::string_view) {}, .batch_ended = [] {}, .silence = 1h};
};

} // namespace

TEST_CASE("a part is gone when its container does not run, and may go on when that is paused") {
    for (const auto state : {ContainerState::exited, ContainerState::paused}) {
        OnePart one;
        one.job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            co_await start_of(exec);
            exec.out(started());
            one.job.fakes[0]->containers.begin()->second.state = state;
            exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
            co_return 0;
        });
        const auto before = LeaseClock::now();
        REQUIRE(!one.run());
        const auto told_until = one.part.told_until();
        CHECK(told_until.has_value() == (state == ContainerState::paused));
        CHECK((!told_until || *told_until >= before));
    }
}

TEST_CASE("a part that could not be started is none") {
    OnePart one;
    one.job.fakes[0]->on_exec("job start", prepared() + control({.type = wire::JobEvent::Type::error,
                                                                 .error = {ErrorKind::job, "", "no", ""}}));
    REQUIRE(!one.run());
    CHECK_FALSE(one.part.told_until().has_value());
}

TEST_CASE("a node that does not answer is pinged once, and one that does each time") {
    for (const bool answers : {false, true}) {
        OnePart one;
        int pings = 0;
        one.job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            co_await start_of(exec);
            exec.out(started());
            while (const auto line = co_await exec.read_line()) {
                if (wire::parse_job_command(*line)->type == Order::stop) {
                    break;
                }
                ++pings;
                if (answers) {
                    exec.out(wire::encode({.kind = wire::Frame::Kind::pong}));
                }
            }
            exec.out(exited(0));
            co_return 0;
        });
        const auto ping = [&]() -> Task<Status> {
            for (int i = 0; i < 3; ++i) {
                co_await pause_for(10ms);
                co_await one.part.send({.type = Order::ping});
            }
            co_await pause_for(10ms);
            co_await one.part.send({.type = Order::stop});
            co_return ok;
        };
        const auto run = [&]() -> Task<Status> {
            CHECK((co_await one.part.run({.argv = {"train"}}, one.handlers)).has_value());
            co_return ok;
        };
        REQUIRE(run_task(one.job.io, one.part.open()).has_value());
        const auto both = [&]() -> Task<Status> {
            std::vector<Task<Status>> tasks;
            tasks.push_back(run());
            tasks.push_back(ping());
            co_await run_all(std::move(tasks));
            co_return ok;
        };
        REQUIRE(run_task(one.job.io, both()).has_value());
        CHECK(pings == (answers ? 3 : 1));
    }
}

} // namespace lost_part_test

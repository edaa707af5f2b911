#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace told_once_test {

using namespace dockdist;

TEST_CASE("a failure is told before the end where the job takes its time to end") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.options.tell_ending_after = std::chrono::milliseconds(0);
    job.fakes[0]->on_exec("job start", until_stopped(commands));
    job.fakes[1]->on_exec("job start", prepared() + started() + exited(7));
    job.run();
    CHECK(job.events.texts ==
          std::vector<std::string>{"node-1: the command exited with 7: the job is stopped everywhere"});
}

TEST_CASE("what nodes say in place of a command that does not start is told once, by the failure") {
    for (const bool alike : {true, false}) {
        FakeJob job(2);
        for (std::size_t i = 0; i < 2; ++i) {
            const auto cause = "no t.py" + std::string(alike || i == 0 ? "" : " and no folder");
            job.fakes[i]->on_exec("job start", [cause](FakeExec exec) -> Task<int> {
                co_await start_of(exec);
                wire::JobFailure failure{.code = 2, .cause = cause};
                wire::JobEvent end{.type = wire::JobEvent::Type::exited};
                end.result = {.code = 2, .failures = {failure}};
                exec.out(output("dockdist: " + cause + "\n", 0) +
                         control({.type = wire::JobEvent::Type::rank_failed, .failure = failure}));
                co_await exec.read_line();
                exec.out(control(end));
                co_return 0;
            });
        }
        const auto outcome = job.run();
        REQUIRE(outcome.first_failure.has_value());
        const auto& other = outcome.first_failure->node == "node-0" ? "node-1" : "node-0";
        CHECK(job.sink.text[outcome.first_failure->node].empty());
        CHECK(job.sink.text[other].empty() == alike);
    }
}

} // namespace told_once_test

#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace run_job_test {

using namespace dockdist;

TEST_CASE("a job that ends well everywhere ends with 0, and all output has come") {
    FakeJob job(2);
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", prepared() + started() + output("hello\n", 0) + exited(0));
    }
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.errors.empty());
    CHECK(job.sink.text == std::map<std::string, std::string>{{"node-0", "hello\n"}, {"node-1", "hello\n"}});
}

TEST_CASE("the first failure stops the other nodes, and its code is the job's") {
    FakeJob job(3);
    std::vector<std::string> commands;
    job.fakes[0]->on_exec("job start", until_stopped(commands));
    job.fakes[1]->on_exec("job start", prepared() + started() + exited(7));
    job.fakes[2]->on_exec("job start", until_stopped(commands));
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 7);
    REQUIRE(outcome.first_failure.has_value());
    CHECK(outcome.first_failure->node == "node-1");
    CHECK(commands.size() == 2);
    CHECK(job.events.texts.empty()); // the end of the job tells it
}

TEST_CASE("a rank's failure counts with the rank's own code, whatever the launcher makes of it") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.fakes[0]->on_exec("job start", until_stopped(commands));
    job.fakes[1]->on_exec("job start", [](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started() + control({.type = wire::JobEvent::Type::rank_failed,
                                      .failure = {.rank = 3, .local_rank = 1, .code = 7}}));
        co_await exec.read_line(); // the stop, to the node that failed as well
        exec.out(exited(1));
        co_return 0;
    });
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 7);
    CHECK(outcome.first_failure->rank == 3);
    CHECK(commands.size() == 1);
}

TEST_CASE("what launchers say when the job is being ended is set aside, and nothing else") {
    for (const int failed_rank : {3, -1}) {
        FakeJob job(2);
        for (auto& launch : job.launches) {
            launch.ranks = 2;
        }
        const auto script = [&](bool fails) -> FakeEngine::ExecScript {
            return [fails, failed_rank](FakeExec exec) -> Task<int> {
                co_await start_of(exec);
                exec.out(started());
                std::uint64_t position = 0;
                const auto say = [&](const std::string& bytes, int rank) {
                    const auto frame = output(bytes, position, rank);
                    position += frame.size();
                    exec.out(frame);
                };
                say("launching\n", -1);
                if (fails) {
                    exec.out(control({.type = wire::JobEvent::Type::rank_failed,
                                      .failure = {.rank = failed_rank, .code = 7}}));
                }
                while (const auto line = co_await exec.read_line()) {
                    if (wire::parse_job_command(*line)->type == wire::JobCommand::Type::stop) {
                        break;
                    }
                }
                say("Traceback\nSignalException\n", -1);
                say("saved\n", 2);
                say("dockdist: a note\n", -1);
                exec.out(exited(143, 15));
                co_return 0;
            };
        };
        job.fakes[0]->on_exec("job start", script(false));
        job.fakes[1]->on_exec("job start", script(true));
        job.run();
        CHECK(job.sink.text["node-0"] == "launching\nsaved\ndockdist: a note\n");
        CHECK(job.sink.asides["node-0"] == "Traceback\nSignalException\n");
        // The launcher that has failed itself says why.
        CHECK(job.sink.asides["node-1"].empty() == (failed_rank < 0));
    }
}

TEST_CASE("an interrupt stops every node; a second one without grace") {
    FakeJob job(2);
    std::vector<std::string> commands;
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            co_await start_of(exec);
            exec.out(started());
            job.interrupts.interrupt();
            while (const auto line = co_await exec.read_line()) {
                commands.push_back(*line);
                if (wire::parse_job_command(*line)->grace_ms == 0) {
                    break;
                }
            }
            exec.out(exited(137, 9));
            co_return 0;
        });
    }
    const auto outcome = job.run();
    CHECK(outcome.interrupted);
    CHECK_FALSE(outcome.first_failure.has_value()); // what it did was our doing
    for (const auto& command : commands) {
        CHECK(wire::parse_job_command(command)->type == wire::JobCommand::Type::stop);
    }
    CHECK(wire::parse_job_command(commands.back())->grace_ms == 0);
}

TEST_CASE("a broken stream is taken up where it broke: nothing twice, nothing lost") {
    FakeJob job(1);
    job.fakes[0]->on_exec("job start", [](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started() + output("one\n", 0));
        exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
        co_return 0;
    });
    std::uint64_t asked = 0;
    job.fakes[0]->on_exec("job follow", [&](FakeExec exec) -> Task<int> {
        const auto request = nlohmann::json::parse(exec.config().command.back());
        asked = request["position"].get<std::uint64_t>();
        exec.out(output("two\n", asked) + exited(0));
        co_return 0;
    });
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK(asked == wire::frame_header_size + 4);
    CHECK(job.sink.text["node-0"] == "one\ntwo\n");
}

TEST_CASE("a stream that breaks when output has come, and no word of the start, is taken up where it broke") {
    FakeJob job(1);
    int starts = 0;
    job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        ++starts;
        exec.out(output("one\n", 0)); // a node's log may come before its events
        exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
        co_return 0;
    });
    job.fakes[0]->on_exec("job follow", [&](FakeExec exec) -> Task<int> {
        const auto query = wire::parse_job_query(exec.config().command.back());
        exec.out(started() + output("two\n", query->position) + exited(0));
        co_return 0;
    });
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.errors.empty());
    CHECK(starts == 1);
    CHECK(job.sink.text["node-0"] == "one\ntwo\n");
}

TEST_CASE("a node whose container is gone ends the job on the others") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.fakes[0]->on_exec("job start", until_stopped(commands));
    job.fakes[1]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        job.fakes[1]->containers.clear();
        exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
        co_return 0;
    });
    const auto outcome = job.run();
    REQUIRE(outcome.errors.size() == 1);
    CHECK(outcome.errors[0].where == "node-1");
    CHECK(outcome.errors[0].message == "the node's container is gone or does not run");
    CHECK(outcome.stop_reason.empty()); // nobody else has stopped it
    CHECK(outcome.exit_code() == 125);
    CHECK(commands.size() == 1);
}

TEST_CASE("who becomes the job's first node, as the one before it is lost, is told once") {
    FakeJob job(2);
    job.options.max_restarts = 1;
    job.options.min_nodes = 1;
    job.options.backoff = std::chrono::milliseconds(1);
    job.options.relaunch = "not asked for: the other node ends";
    std::vector<std::string> firsts;
    job.options.on_first_node = [&](const NodeName& node) { firsts.push_back(node.str()); };
    job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        job.fakes[0]->containers.clear();
        exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
        co_return 0;
    });
    job.fakes[1]->on_exec("job start", [](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        co_await exec.read_line(); // that the attempt is over
        exec.out(exited(0));
        co_return 0;
    });
    (void)job.run();
    CHECK(firsts == std::vector<std::string>{"node-1"});
}

TEST_CASE("a node that cannot start the job says why, and the others are stopped") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.fakes[0]->on_exec("job start", until_stopped(commands));
    job.fakes[1]->on_exec(
        "job start",
        prepared() + control({.type = wire::JobEvent::Type::error,
                              .error = {ErrorKind::node, "", "no space left on device", "free some"}}));
    const auto outcome = job.run();
    REQUIRE(outcome.errors.size() == 1);
    CHECK(outcome.errors[0].where == "node-1");
    CHECK(outcome.errors[0].message == "no space left on device");
    CHECK(commands.size() == 1);
}

// A part whose node begins it and then does as it likes; what is given up is given up at once.
struct SilentNode {
    SilentNode() {
        job.fakes[0]->on_exec("job start", [](FakeExec exec) -> Task<int> {
            co_await start_of(exec);
            exec.out(started());
            while (co_await exec.read_line()) {
            }
            co_return 0;
        });
    }

    Result<wire::JobResult> run() {
        part.give_up_at(give_up_at);
        REQUIRE(run_task(job.io, part.open()).has_value());
        return run_task(job.io, part.run({.argv = {"train"}}, handlers));
    }

    FakeJob job{1};
    NodeJob part{*job.engines[0], job.nodes[0], {.job = "job-1"}};
    NodeJob::Handlers handlers{.output = [](int, StdStream, std::string_view) {},
                               .batch_ended = [] {},
                               .silence = std::chrono::milliseconds(20)};
    LeaseClock::time_point give_up_at = LeaseClock::time_point::max();
};

TEST_CASE("a node that answers no ping is lost when the time for that is over") {
    SilentNode node;
    const auto result = node.run();
    REQUIRE(!result);
    CHECK(result.error().message == "nothing was heard of it for 0.02 s");
}

TEST_CASE("a node that was told to end its part and does not say that it did is given up") {
    SilentNode node;
    node.handlers.silence = std::chrono::hours(1);
    node.give_up_at = LeaseClock::now();
    const auto result = node.run();
    REQUIRE(!result);
    CHECK(result.error().message == "it was told to end its part, and has not confirmed that it did");
}

TEST_CASE("opening a job tells what each node answers, and asks the first alone for ports") {
    FakeJob job(2);
    std::vector<int> ports;
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            const auto line = co_await exec.read_line();
            ports.push_back(wire::parse_job_opening(*line)->ports);
            exec.out(prepared());
            CHECK_FALSE((co_await exec.read_line()).has_value()); // let go: nothing is started
            co_return 0;
        });
    }
    {
        const auto opened = job.open();
        CHECK(opened.errors.empty());
        REQUIRE(opened.facts.size() == 2);
        CHECK(opened.facts[0].ports == std::vector<int>{29500});
    }
    CHECK(ports == std::vector<int>{1, 0});
}

TEST_CASE("a node that says less than it was asked for is named, and not believed") {
    FakeJob job(2);
    job.fakes[0]->on_exec("job start", control({.type = wire::JobEvent::Type::prepared}));
    job.fakes[1]->on_exec("job start", control({.type = wire::JobEvent::Type::prepared}));
    const auto opened = job.open();
    REQUIRE(opened.errors.size() == 1); // the second was asked for nothing
    CHECK(opened.errors[0].where == "node-0");
    CHECK(opened.errors[0].message == "it was asked for 1 ports and 0 answers, and gave 0 and 0");
}

TEST_CASE("a node that cannot even open the job is named") {
    FakeJob job(2);
    job.fakes[0]->on_exec("job start", prepared());
    job.fakes[1]->on_exec("job start", control({.type = wire::JobEvent::Type::error,
                                                .error = {ErrorKind::config, "", "no user \"alice\"", ""}}));
    const auto opened = job.open();
    REQUIRE(opened.errors.size() == 1);
    CHECK(to_text(opened.errors[0]) == "node-1: no user \"alice\"");
}

TEST_CASE("what only hosts ranks for others is stopped when these have ended, and its end says nothing") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.launches[1].hosts_remote_ranks = true;
    job.launches[1].start.argv.clear();
    job.fakes[0]->on_exec("job start", prepared() + started() + exited(0));
    job.fakes[1]->on_exec("job start", until_stopped(commands));
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 0);
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(commands.size() == 1);
}

TEST_CASE("a launcher that ends with 0 and has started too few ranks has failed") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.launches[0].ranks = 2;
    job.launches[1].ranks = 2;
    job.launches[1].hosts_remote_ranks = true;
    job.launches[1].start.argv.clear();
    job.fakes[0]->on_exec(
        "job start", prepared() + started() +
                         control({.type = wire::JobEvent::Type::exited, .result = {.code = 0, .ranks = 2}}));
    job.fakes[1]->on_exec("job start", until_stopped(commands));
    const auto outcome = job.run();
    CHECK(outcome.errors.empty());
    REQUIRE(outcome.first_failure.has_value());
    CHECK(outcome.first_failure->node == "node-0");
    CHECK(outcome.first_failure->finding ==
          "the launcher ended with 0, and has started 2 of 4 ranks: its own lines say why");
    CHECK(outcome.exit_code() == 125);
}

TEST_CASE("a rank on another node explains why the launcher ended, also when it is heard of later") {
    FakeJob job(2);
    job.launches[1].hosts_remote_ranks = true;
    job.launches[1].start.argv.clear();
    job.fakes[0]->on_exec("job start", prepared() + started() + exited(1));
    job.fakes[1]->on_exec("job start", [](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        co_await exec.read_line(); // the stop, because of node-0
        exec.out(control({.type = wire::JobEvent::Type::rank_failed, .failure = {.rank = 3, .code = 7}}) +
                 exited(0));
        co_return 0;
    });
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 7);
    REQUIRE(outcome.first_failure.has_value());
    CHECK(outcome.first_failure->node == "node-1");
}

TEST_CASE("a job whose time is over was ended by its nodes: that is no failure, and nobody is told to stop") {
    FakeJob job(2);
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [](FakeExec exec) -> Task<int> {
            CHECK(wire::parse_job_opening((co_await exec.read_line()).value_or(""))->timeout_ms == 7000);
            exec.out(prepared());
            co_await exec.read_line(); // the start
            exec.out(started() + control({.type = wire::JobEvent::Type::exited,
                                          .result = {.code = 143, .stopped = true, .reason = "timeout"}}));
            CHECK_FALSE((co_await exec.read_line()).has_value());
            co_return 0;
        });
    }
    job.options.timeout = std::chrono::seconds(7);
    const auto outcome = job.run();
    CHECK(outcome.exit_code() == 124);
    CHECK(outcome.stop_reason == "timeout");
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(outcome.errors.empty());
    CHECK(job.events.texts.empty());
}

} // namespace run_job_test

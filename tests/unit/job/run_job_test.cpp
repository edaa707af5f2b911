#include "async/interrupts.hpp"
#include "fakes/fake_engine.hpp"
#include "job/run_job.hpp"
#include "wire/frame.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace dockdist;

namespace {

std::string output(std::string bytes, std::uint64_t position, std::int32_t rank = -1) {
    return wire::encode({.kind = wire::Frame::Kind::output,
                         .stream = 1,
                         .rank = rank,
                         .position = position,
                         .payload = std::move(bytes)});
}

std::string control(const wire::JobEvent& event) {
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::job_event(event)});
}

std::string prepared() {
    return control({.type = wire::JobEvent::Type::prepared, .facts = {.ports = {29500}}});
}

std::string started() {
    return control({.type = wire::JobEvent::Type::started, .pid = 7});
}

std::string exited(int code, int signal = 0) {
    return control({.type = wire::JobEvent::Type::exited, .result = {.code = code, .signal = signal}});
}

class Sink : public JobSink {
public:
    void output(const NodeName& node, int, StdStream, std::string_view bytes) override {
        text[node.str()] += bytes;
    }
    void flush() override {}
    std::map<std::string, std::string> text{};
};

class Events : public Reporter {
public:
    void on(const Event& event) override { texts.push_back(event.subject + ": " + event.text); }
    void error(const Error&) override {}
    void finish() override {}
    std::vector<std::string> texts{};
};

// A job over fake nodes, node-0 … ; what each does is the script of its engine.
struct FakeJob {
    explicit FakeJob(int count) {
        for (int i = 0; i < count; ++i) {
            const auto name = "node-" + std::to_string(i);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), name);
            const auto id = engine->add_container(name).id;
            nodes.push_back({.name = NodeName(name), .id = id, .host = static_cast<std::size_t>(i)});
            launches.push_back({.node = NodeName(name), .start = {.argv = {"train"}}});
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }

    OpenedJob open() { return run_task(io, open_job(engines, nodes, options, {}, 1)); }

    JobOutcome run() { return run_task(io, run_job(open(), launches, options, interrupts, sink, events)); }

    boost::asio::io_context io{};
    JobOptions options{.job = JobId("job-1")};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<ReadyNode> nodes{};
    std::vector<NodeLaunch> launches{};
    Interrupts interrupts{};
    Sink sink{};
    Events events{};
};

// The two lines with which the client begins.
Task<wire::JobStart> start_of(FakeExec exec) {
    co_await exec.read_line();
    exec.out(prepared());
    const auto line = co_await exec.read_line();
    co_return *wire::parse_job_start(line.value_or(""));
}

// Says that it has started, waits to be told to stop, and obeys.
FakeEngine::ExecScript until_stopped(std::vector<std::string>& commands) {
    return [&commands](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        while (const auto line = co_await exec.read_line()) {
            commands.push_back(*line);
            const auto type = wire::parse_job_command(*line)->type;
            if (type == wire::JobCommand::Type::stop || type == wire::JobCommand::Type::over) {
                break;
            }
        }
        exec.out(control({.type = wire::JobEvent::Type::exited,
                          .result = {.code = 143, .signal = 15, .stopped = true, .reason = "stop"}}));
        co_return 0;
    };
}

} // namespace

TEST_CASE("a job that ends well everywhere ends with 0, and all output has come") {
    FakeJob job(2);
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", prepared() + started() + output("hello\n", 0) + exited(0));
    }
    const auto outcome = job.run();
    CHECK(outcome.exit_code == 0);
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
    CHECK(outcome.exit_code == 7);
    REQUIRE(outcome.first_failure.has_value());
    CHECK(outcome.first_failure->node == "node-1");
    CHECK(commands.size() == 2);
    CHECK(job.events.texts ==
          std::vector<std::string>{"node-1: ended with 7: the job is stopped everywhere"});
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
    CHECK(outcome.exit_code == 7);
    CHECK(outcome.first_failure->failure.rank == 3);
    CHECK(commands.size() == 1);
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
    CHECK(outcome.exit_code == 0);
    CHECK(asked == wire::frame_header_size + 4);
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
    CHECK(commands.size() == 1);
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

TEST_CASE("a node that cannot even open the job is named") {
    FakeJob job(2);
    job.fakes[0]->on_exec("job start", prepared());
    job.fakes[1]->on_exec("job start", control({.type = wire::JobEvent::Type::error,
                                                .error = {ErrorKind::config, "", "no user \"alice\"", ""}}));
    const auto opened = job.open();
    REQUIRE(opened.errors.size() == 1);
    CHECK(to_text(opened.errors[0]) == "node-1: no user \"alice\"");
}

TEST_CASE("what only supports others is stopped when these have ended, and its end says nothing") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.launches[1].supports = true;
    job.launches[1].start.argv.clear();
    job.fakes[0]->on_exec("job start", prepared() + started() + exited(0));
    job.fakes[1]->on_exec("job start", until_stopped(commands));
    const auto outcome = job.run();
    CHECK(outcome.exit_code == 0);
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(commands.size() == 1);
}

TEST_CASE("a part that has ended goes when all have, and is told so") {
    FakeJob job(2);
    std::vector<std::string> told;
    for (auto* engine : job.fakes) {
        engine->on_exec("job start", [&](FakeExec exec) -> Task<int> {
            const auto start = co_await start_of(exec);
            CHECK(start.stays);
            CHECK(start.course.parts.size() == 2);
            exec.out(started() + control({.type = wire::JobEvent::Type::ended, .result = {.code = 0}}));
            const auto line = co_await exec.read_line();
            told.push_back(line.value_or(""));
            exec.out(exited(0));
            co_return 0;
        });
    }
    const auto outcome = job.run();
    CHECK(outcome.exit_code == 0);
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
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.attempts == 2);
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(job.events.texts ==
          std::vector<std::string>{"node-1: rank 3 ended with 7: attempt 2 of 2 begins in 0.001 s"});
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
            summary.course.parts.push_back({.node = part.name.str()});
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
        run_task(job.io, carry_job(job.engines, known(job, false), {}, job.sink, job.events));
    CHECK(outcome.exit_code == 7);
    CHECK(commands == std::vector<std::string>{"stop"});
    CHECK(job.sink.text["node-0"] == "one\n");
}

TEST_CASE("who attaches to a detached job only looks on, and holds its streams by pings") {
    FakeJob job(2);
    std::vector<std::string> commands;
    let_one_fail(job, commands);
    auto seen = known(job, true);
    seen.parts[0].summary.lease_ms = 30;
    const auto outcome = run_task(job.io, carry_job(job.engines, seen, {}, job.sink, job.events));
    CHECK(outcome.exit_code == 7);
    CHECK(commands == std::vector<std::string>{"ping"});
}

TEST_CASE("a launcher that ends with 0 and has started too few ranks has failed") {
    FakeJob job(2);
    std::vector<std::string> commands;
    job.launches[0].ranks = 2;
    job.launches[1].ranks = 2;
    job.launches[1].supports = true;
    job.launches[1].start.argv.clear();
    job.fakes[0]->on_exec(
        "job start", prepared() + started() +
                         control({.type = wire::JobEvent::Type::exited, .result = {.code = 0, .ranks = 2}}));
    job.fakes[1]->on_exec("job start", until_stopped(commands));
    const auto outcome = job.run();
    CHECK_FALSE(outcome.first_failure.has_value());
    REQUIRE(outcome.errors.size() == 1);
    CHECK(outcome.errors[0].message == "the launcher ended with 0, and has started 2 of 4 ranks");
}

TEST_CASE("a rank on another node explains why the launcher ended, also when it is heard of later") {
    FakeJob job(2);
    job.launches[1].supports = true;
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
    CHECK(outcome.exit_code == 7);
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
    CHECK(outcome.exit_code == 124);
    CHECK(outcome.stop_reason == "timeout");
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(outcome.errors.empty());
    CHECK(job.events.texts.empty());
}

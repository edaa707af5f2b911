// A runtime that dies before the command begins: it is asked for again, and nothing is lost or doubled.
#include "client/container/exec_command.hpp"
#include "client/container/started_exec.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/read_to_end.hpp"
#include "fakes/show.hpp"
#include "shared/core/exit_codes.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace started_exec_test {

using namespace dockdist;

namespace {

// As Docker 20.10 and 26.1 said it when runc's init was killed.
const std::string death =
    "OCI runtime exec failed: exec failed: unable to start container process: waiting for init preliminary "
    "setup: read init-p: connection reset by peer: unknown\r\n";

struct WithDeaths {
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "host-a"};
    ContainerId id = engine.add_container("v-a").id;
    int deaths = 0; // still to come
    int starts = 0;

    WithDeaths() {
        engine.on_exec("cat", [this](FakeExec exec) -> Task<int> {
            ++starts;
            if (deaths > 0) {
                --deaths;
                co_return exec.runtime_dies(death);
            }
            exec.out(co_await exec.read_all());
            exec.err("over");
            co_return 3;
        });
    }
    template <class T>
    T run(Task<T> task) {
        return run_task(io, std::move(task));
    }
    std::unique_ptr<StartedExec> started() { return run(start_command(engine, id, {{"cat"}})).value(); }
};

} // namespace

TEST_CASE("which words of an engine mean that the runtime died") {
    const std::string beginning = "exec failed: unable to start container process: ";
    CHECK(runtime_died(death));
    for (const auto* words : {"error executing setns process: exit status 1: unknown",
                              "error executing setns process: signal: killed: unknown",
                              "error copying bootstrap data to pipe: write init-p: broken pipe: unknown",
                              "error writing config to pipe: write init-p: broken pipe: unknown",
                              "read init-p: connection reset by peer: unknown"}) {
        CAPTURE(words);
        CHECK(runtime_died("OCI runtime exec failed: " + beginning + words + "\r\n"));
        CHECK(runtime_died("Error: runc: " + beginning + words + "OCI runtime error\n"));
        CHECK_FALSE(runtime_died(words));
    }
    CHECK_FALSE(runtime_died("OCI runtime exec failed: " + beginning +
                             "exec: \"nope\": executable file not found in $PATH: unknown\r\n"));
    CHECK_FALSE(runtime_died("cannot exec in a stopped container"));
}

TEST_CASE_FIXTURE(WithDeaths, "it is started again, and hears once what was written") {
    deaths = 2;
    const auto exec = started();
    const auto first = exec->id();
    CHECK(run(exec->write(std::string_view("one "))));
    CHECK(run(exec->write(std::string_view("two"))));
    CHECK(run(exec->close_stdin()));
    const auto output = run(read_to_end(*exec));
    CHECK(output.out == "one two");
    CHECK(output.err == "over");
    CHECK(starts == 3);
    CHECK(exec->id() != first);
    CHECK(run(engine.inspect_exec(exec->id())).value().exit_code == 3);
}

TEST_CASE_FIXTURE(WithDeaths, "what is written while it starts again comes behind, once") {
    deaths = 1;
    const auto exec = started();
    CHECK(run(exec->write(std::string_view("one "))));
    Cancellable reading(io, read_to_end(*exec));
    engine.hold("start_exec");
    run_until(io, [&] { return std::ranges::count(engine.calls, "create_exec v-a: cat") == 2; });
    CHECK(run(exec->write(std::string_view("two "))));
    engine.release("start_exec");
    run_until(io, [&] { return starts == 2; });
    CHECK(run(exec->write(std::string_view("three"))));
    CHECK(run(exec->close_stdin()));
    reading.wait();
    CHECK(reading.value().out == "one two three");
    CHECK(reading.value().err == "over");
}

TEST_CASE_FIXTURE(WithDeaths, "a third death in a row is the host's error") {
    deaths = 3;
    const auto exec = started();
    const auto output = run(read_to_end(*exec));
    CHECK(output.out.empty());
    CHECK(output.error ==
          Error{ErrorKind::engine, "host-a", death.substr(0, death.size() - 2),
                "the host may be short of memory or of processes: see `free` and `dmesg` there"});
    CHECK(starts == 3);
}

TEST_CASE_FIXTURE(WithDeaths, "an engine that tells it at the start is asked again, too") {
    engine.fail("start_exec", {ErrorKind::engine, "", death, ""}, 2);
    const auto exec = started();
    CHECK(run(exec->close_stdin()));
    CHECK(run(read_to_end(*exec)).err == "over");
    engine.fail("start_exec", {ErrorKind::engine, "", death, ""}, 3);
    const auto failed = run(start_command(engine, id, {{"cat"}}));
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message == death.substr(0, death.size() - 2));
}

TEST_CASE_FIXTURE(WithDeaths, "a command that begins and prints such words is believed") {
    int said = 0;
    engine.on_exec("quote", [&](FakeExec exec) -> Task<int> {
        ++said;
        exec.out(death);
        co_return exit_codes::cannot_start;
    });
    const auto result = run(run_command(engine, id, {{"quote"}})).value();
    CHECK(result.out == death);
    CHECK(result.exit_code == exit_codes::cannot_start);
    engine.on_exec("more", [](FakeExec exec) -> Task<int> {
        exec.out(death);
        exec.out("and goes on");
        co_return 0;
    });
    CHECK(run(run_command(engine, id, {{"more"}})).value().out == death + "and goes on");
    CHECK(said == 1);
}

TEST_CASE_FIXTURE(WithDeaths, "with more input than is kept, it is started once") {
    deaths = 1;
    const auto exec = started();
    const std::string much(600U << 10U, 'x');
    CHECK(run(exec->write(much)));
    CHECK(run(exec->write(much)));
    CHECK(run(read_to_end(*exec)).out == death);
    CHECK(starts == 1);
}

} // namespace started_exec_test

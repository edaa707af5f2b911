// Connections that break while a job is being started, at every byte of what is said then: the part runs, it
// runs once, and all of its output comes.
#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace broken_start_test {

using namespace dockdist;

namespace {

const Error reset{ErrorKind::unreachable, "",
                  "the connection to the engine was lost: Connection reset by peer", ""};

// The stream breaks once: when so many bytes have come to the client, or at a line to the node, which has it
// whole or not at all. (Of a line that is cut, the node knows nothing, wherever that was.)
struct Fault {
    enum class Way { to_client, to_node, never };
    Way way = Way::never;
    std::size_t left = 0; // bytes, or lines
    bool line_arrives = false;
    bool happened = false;
};

// A node as job_start.cpp and follower.cpp make it: what it knows outlives its execs.
class Node {
public:
    Node(FakeEngine& engine, Fault fault) : fault_(fault) {
        engine.on_exec("job start", [this](FakeExec exec) { return start(exec); });
        engine.on_exec("job follow", [this](FakeExec exec) -> Task<int> {
            const auto query = wire::parse_job_query(exec.config().command.back());
            say(exec, log(query->position));
            co_return 0;
        });
    }

    bool fault_happened() const { return fault_.happened; }
    int runs = 0;
    int execs = 0;
    std::string problem{};

private:
    Task<int> start(FakeExec exec) {
        ++execs;
        exec_is_cut_ = false;
        const auto first = co_await hear(exec);
        const auto opening = wire::parse_job_opening(first.value_or(""));
        if (!opening) {
            co_return 1; // cut short
        }
        problem += opening->token.empty() ? "no token; " : "";
        if (runs > 0 && opening->token != token_) {
            say(exec, control({.type = wire::JobEvent::Type::error,
                               .error = {ErrorKind::conflict, "", "was started before", ""}}));
            co_return 1;
        }
        const bool again = opening->ports == 1 && !opening->same_ports.empty();
        problem += again && opening->same_ports != std::vector{29500} ? "other ports; " : "";
        if (exec_is_cut_ || (runs == 0 && !say(exec, prepared()))) {
            co_return 0;
        }
        const auto second = co_await hear(exec);
        if (!second) {
            co_return 0; // the opening is forgotten
        }
        problem += wire::parse_job_start(*second) ? "" : "no start: " + *second;
        if (runs == 0) {
            ++runs;
            token_ = opening->token;
        }
        if (!exec_is_cut_) {
            say(exec, log(0));
        }
        co_return 0;
    }

    // The next line; nothing where the stream breaks before its end.
    Task<std::optional<std::string>> hear(FakeExec exec) {
        auto line = co_await exec.read_line();
        if (line && fault_.way == Fault::Way::to_node && !fault_.happened) {
            if (fault_.left-- == 0) {
                fault_.happened = exec_is_cut_ = true;
                exec.break_stream(reset);
                if (!fault_.line_arrives) {
                    line.reset();
                }
            }
        }
        co_return line;
    }

    bool say(FakeExec exec, const std::string& bytes) {
        if (fault_.way == Fault::Way::to_client && !fault_.happened) {
            if (fault_.left < bytes.size()) {
                fault_.happened = true;
                exec.out(bytes.substr(0, fault_.left));
                exec.break_stream(reset);
                return false;
            }
            fault_.left -= bytes.size();
        }
        exec.out(bytes);
        return true;
    }

    // From a position on. The follower empties the log before it looks at the supervisor's events.
    static std::string log(std::uint64_t position) {
        const auto second = wire::frame_header_size + 4;
        return (position == 0 ? output("one\n", 0) : "") + started() +
               (position <= second ? output("two\n", second) : "") + exited(0);
    }

    Fault fault_;
    bool exec_is_cut_ = false; // the one that runs now: what it says reaches nobody
    std::string token_{};
};

struct Told {
    JobOutcome outcome{};
    std::string output{}, problem{};
    int runs = 0, execs = 0;
    bool fault_happened = false;
};

Told run_with(Fault fault, const std::function<void(FakeEngine&)>& prepare = {}) {
    FakeJob job(1);
    Node node(*job.fakes[0], fault);
    if (prepare) {
        prepare(*job.fakes[0]);
    }
    Told told;
    auto opened = job.open();
    told.outcome.errors = opened.errors;
    if (opened.errors.empty()) {
        told.outcome = run_task(job.io, run_job(std::move(opened), job.launches, job.options, job.interrupts,
                                                job.sink, job.events));
    }
    told.output = job.sink.text["node-0"];
    told.problem = node.problem;
    told.runs = node.runs;
    told.execs = node.execs;
    told.fault_happened = node.fault_happened();
    return told;
}

void check_whole(const Told& told) {
    CHECK(told.outcome.exit_code() == 0);
    CHECK(told.outcome.errors == Errors{});
    CHECK(told.output == "one\ntwo\n");
    CHECK(told.runs == 1);
    CHECK(told.problem.empty());
}

} // namespace

TEST_CASE("a stream that breaks at any byte of a job's beginning starts it once, and loses nothing") {
    std::size_t byte = 0;
    for (bool happened = true; happened; ++byte) {
        CAPTURE(byte);
        const auto told = run_with({.way = Fault::Way::to_client, .left = byte});
        check_whole(told);
        happened = told.fault_happened;
    }
    CHECK(byte > 300); // there was something to break
}

TEST_CASE("a job starts once when the stream breaks at its opening or its start, arrived or not") {
    for (std::size_t line = 0; line < 2; ++line) {
        for (const bool arrives : {false, true}) {
            CAPTURE(line);
            CAPTURE(arrives);
            const auto told = run_with({.way = Fault::Way::to_node, .left = line, .line_arrives = arrives});
            check_whole(told);
            CHECK(told.fault_happened);
            CHECK(told.execs == 2);
        }
    }
}

TEST_CASE("a call whose answer is lost while a job is opened is made again, and the job starts once") {
    for (const std::string call : {"create_exec node-0", "start_exec node-0"}) {
        CAPTURE(call);
        check_whole(run_with({}, [&](FakeEngine& engine) { engine.lose_answer(call); }));
        check_whole(run_with({}, [&](FakeEngine& engine) { engine.fail(call, reset); }));
    }
}

TEST_CASE("a call whose answer is lost while a broken start is taken up is made again") {
    for (const std::string call : {"create_exec node-0", "start_exec node-0"}) {
        CAPTURE(call);
        const auto told = run_with({.way = Fault::Way::to_client, .left = 100}, [&](FakeEngine& engine) {
            auto seen = std::make_shared<int>(0);
            engine.on_call = [&engine, call, seen](const std::string& what) {
                if (what.starts_with(call) && ++*seen == 2) {
                    engine.lose_answer(call);
                }
            };
        });
        check_whole(told);
    }
}

TEST_CASE(
    "a start that is on its way when it is said again meets itself, and is followed when it has arrived") {
    FakeJob job(1);
    int execs = 0;
    job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
        ++execs;
        co_await exec.read_line();
        if (execs == 1) {
            exec.out(prepared());
            co_await exec.read_line();
            exec.break_stream(reset);
        } else if (execs == 2) { // its folder is there, who it belongs to is not yet
            exec.out(control({.type = wire::JobEvent::Type::error,
                              .error = {ErrorKind::conflict, "", "was started before", ""}}));
        } else {
            exec.out(started() + output("one\n", 0) + exited(0));
        }
        co_return 0;
    });
    const auto outcome = job.run();
    CHECK(outcome.errors == Errors{});
    CHECK(execs == 3);
    CHECK(job.sink.text["node-0"] == "one\n");
}

TEST_CASE("a job of that name that somebody else has started meanwhile is not taken for this one") {
    FakeJob job(1);
    int execs = 0;
    job.fakes[0]->on_exec("job start", [&](FakeExec exec) -> Task<int> {
        ++execs;
        co_await start_of(exec);
        exec.out(control({.type = wire::JobEvent::Type::error,
                          .error = {ErrorKind::conflict, "", "a job job-1 was started before", "attach"}}));
        co_return 0;
    });
    const auto outcome = job.run();
    REQUIRE(outcome.errors.size() == 1);
    CHECK(to_text(outcome.errors[0]) == "node-0: a job job-1 was started before\n  attach");
    CHECK(execs == 1);
}

} // namespace broken_start_test

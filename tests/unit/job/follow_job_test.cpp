#include "client/job/follow_job.hpp"
#include "fakes/fake_engine.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/layout.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace follow_job_test {

using namespace dockdist;

namespace {

std::string output(std::string bytes, std::uint64_t position) {
    return wire::encode({.kind = wire::Frame::Kind::output,
                         .stream = 1,
                         .rank = 0,
                         .position = position,
                         .payload = std::move(bytes)});
}

std::string exited(wire::JobResult result) {
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result = std::move(result);
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::job_event(event)});
}

std::string summary(const char* job, bool running, std::int64_t started_ms) {
    return nlohmann::json(wire::JobSummary{.job = job, .running = running, .started_ms = started_ms}).dump() +
           "\n";
}

class Sink : public JobSink {
public:
    void output(const NodeName& node, int, StdStream, std::string_view bytes) override {
        text[node.str()] += bytes;
    }
    void flush() override {}
    std::map<std::string, std::string> text{};
};

wire::JobQuery query_of(const FakeExec& exec) {
    return wire::parse_job_query(exec.config().command.back()).value();
}

// Two nodes, each on an engine of its own.
struct FakeCluster {
    FakeCluster() {
        for (int i = 0; i < 2; ++i) {
            const auto name = "node-" + std::to_string(i);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), name);
            nodes.push_back({.name = NodeName(name),
                             .id = engine->add_container(name).id,
                             .host = static_cast<std::size_t>(i)});
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }
    KnownJob job() const {
        KnownJob known{.job = JobId("job-1")};
        for (const auto& node : nodes) {
            known.parts.push_back(
                {.node = node, .summary = {.job = "job-1", .detached = true, .lease_ms = 30}});
        }
        return known;
    }
    JobOutcome follow(wire::JobQuery query = {}) {
        return run_task(io, follow_job(engines, job(), std::move(query), sink));
    }

    boost::asio::io_context io{};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<ReadyNode> nodes{};
    Sink sink{};
};

} // namespace

TEST_CASE("a job that somebody else started: its output and its end, as the cluster tells them") {
    FakeCluster cluster;
    wire::JobResult failed{.code = 1};
    failed.failures.push_back({.rank = 3, .code = 7});
    cluster.fakes[0]->on_exec("job follow", output("a\n", 0) + exited({.code = 143, .stopped = true}));
    cluster.fakes[1]->on_exec("job follow", output("b\n", 0) + exited(failed));
    const auto outcome = cluster.follow();
    CHECK(cluster.sink.text == std::map<std::string, std::string>{{"node-0", "a\n"}, {"node-1", "b\n"}});
    CHECK(outcome.exit_code() == 7);
    CHECK(outcome.first_failure->node == "node-1");
}

TEST_CASE("a part of the log is asked for once: a stream that is taken up again goes on where it broke") {
    FakeCluster cluster;
    std::vector<wire::JobQuery> queries;
    cluster.fakes[0]->on_exec("job follow", [&](FakeExec exec) -> Task<int> {
        queries.push_back(query_of(exec));
        if (queries.size() == 1) {
            exec.out(wire::encode({.kind = wire::Frame::Kind::pong, .position = 1000}));
            exec.break_stream({ErrorKind::unreachable, "", "connection reset", ""});
        } else {
            exec.out(output("new\n", 1000) + exited({}));
        }
        co_return 0;
    });
    cluster.fakes[1]->on_exec("job follow", exited({}));
    wire::JobQuery query;
    query.tail = 0;
    query.rank = 5;
    cluster.follow(query);
    REQUIRE(queries.size() == 2);
    CHECK(queries[0].tail == 0);
    CHECK_FALSE(queries[1].tail.has_value());
    CHECK(queries[1].position == 1000);
    CHECK(queries[1].rank == 5);
    CHECK(cluster.sink.text["node-0"] == "new\n");
}

TEST_CASE("a full screen keeps a node waiting, not the others") {
    class Silent : public Reporter {
        void on(const Event&) override {}
        void error(const Error&) override {}
        void finish() override {}
    };
    class FullFor : public Sink {
    public:
        explicit FullFor(const boost::asio::any_io_executor& executor) : opened(executor) {}
        void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) override {
            Sink::output(node, rank, stream, bytes);
            full = full || bytes == "much\n";
        }
        Task<void> room() override {
            if (full) {
                co_await opened.wait();
            }
        }
        AsyncEvent opened;
        bool full = false;
    };
    FakeCluster cluster;
    FullFor sink(cluster.io.get_executor());
    int pings = 0;
    cluster.fakes[0]->on_exec("job follow", [&](FakeExec exec) -> Task<int> {
        exec.out(output("much\n", 0));
        exec.out(output("more\n", 29));
        while (pings < 2) { // they come although nothing is read
            co_await exec.read_line();
            ++pings;
            if (pings == 2) {
                CHECK(sink.text["node-0"] == "much\n");
                sink.opened.set();
            }
        }
        exec.out(exited({}));
        co_return 0;
    });
    cluster.fakes[1]->on_exec("job follow", exited({}));
    Silent silent;
    run_task(cluster.io, attach_job(cluster.engines, cluster.job(), {}, sink, silent));
    CHECK(sink.text["node-0"] == "much\nmore\n");
}

TEST_CASE("a name can be used again; it means the latest run, and the others have their numbers") {
    const auto job = [](const char* id, bool running) {
        return KnownJob{.job = JobId(id),
                        .parts = {{.node = {.name = NodeName("node-0")}, .summary = {.running = running}}}};
    };
    CHECK(next_run({}, "night")->str() == "night");
    std::vector<KnownJob> jobs{job("night", false), job("nightly", true), job("night.2", true)};
    CHECK(next_run(jobs, "night")->str() == "night.run2");
    CHECK(choose_job(jobs, JobId("night"))->job.str() == "night");
    jobs.insert(jobs.begin(), job("night.run10", false)); // clocks of nodes differ
    CHECK(next_run(jobs, "night")->str() == "night.run11");
    CHECK(choose_job(jobs, JobId("night"))->job.str() == "night.run10");
    CHECK(choose_job(jobs, JobId("night.run1"))->job.str() == "night");
    CHECK(choose_job(jobs, JobId("night.run2")).error().message == "there is no job `night.run2`");
    CHECK(exact_job(jobs, JobId("night"))->job.str() == "night");
    jobs.front().parts.front().summary.running = true;
    CHECK(to_text(next_run(jobs, "night").error()) ==
          "node-0: job night.run10 of that name runs\n  `dockdist attach night` follows it, `dockdist stop "
          "night` "
          "ends it; or take another --name");
    jobs.push_back(job("setup-1.1", false));
    jobs.back().parts.front().summary.argv = {layout::init, "setup", "run", "{}"};
    CHECK(choose_job(jobs, JobId(""))->job.str() == "night.2"); // no job of anybody's
    CHECK(choose_job(jobs, JobId("setup-1.1")).has_value());
    const std::string longest(64, 'n');
    CHECK(next_run({job(longest.c_str(), false)}, longest).error().where == "--name");
    for (const auto* const id : {"v1.2", "night.run", "night.runs", "night.run0", "night.run-1", ".run2"}) {
        CHECK_MESSAGE(named_run(JobId(id)).name == id, id);
    }
}

TEST_CASE("two jobs of one name, on nodes that did not know of each other, are two") {
    FakeCluster cluster;
    const auto summary_of = [](const char* token, std::int64_t started_ms) {
        return nlohmann::json(wire::JobSummary{.job = "b", .started_ms = started_ms, .token = token}).dump() +
               "\n";
    };
    cluster.fakes[0]->on_exec("job list", summary_of("one", 20));
    cluster.fakes[1]->on_exec("job list", summary_of("two", 30));
    const auto list = run_task(cluster.io, list_jobs(cluster.engines, cluster.nodes));
    REQUIRE(list.jobs.size() == 2);
    CHECK(choose_job(list.jobs, JobId("b"))->parts.front().summary.token == "two");
}

TEST_CASE("the jobs of all nodes, the latest last; a node that does not answer is named") {
    FakeCluster cluster;
    cluster.fakes[0]->on_exec("job list", summary("b", false, 20) + summary("a", true, 30));
    cluster.fakes[1]->on_exec("job list", summary("b", false, 21));
    auto list = run_task(cluster.io, list_jobs(cluster.engines, cluster.nodes));
    REQUIRE(list.jobs.size() == 2);
    CHECK(list.jobs[0].job == JobId("b"));
    CHECK(list.jobs[0].parts.size() == 2);
    CHECK(choose_job(list.jobs, JobId(""))->job == JobId("a"));
    CHECK(choose_job(list.jobs, JobId("b"))->parts.size() == 2);
    CHECK(to_text(choose_job(list.jobs, JobId("c")).error()) ==
          "there is no job `c`\n  did you mean `a`? the latest are: a, b");
    CHECK(to_text(choose_job(list.jobs, JobId("night-7")).error()) ==
          "there is no job `night-7`\n  the latest are: a, b");
    std::vector<KnownJob> many;
    for (const auto* const name : {"u", "v", "w", "x", "y", "z"}) {
        many.push_back({.job = JobId(std::string("job-of-") + name)});
    }
    CHECK(to_text(choose_job(many, JobId("nosuch")).error()) ==
          "there is no job `nosuch`\n  the latest are: job-of-z, job-of-y, job-of-x, job-of-w, job-of-v; "
          "`dockdist jobs` shows all");

    std::string flood;
    for (int i = 0; i < 1001; ++i) {
        flood += summary("b", false, 20);
    }
    cluster.fakes[1]->on_exec("job list", flood);
    list = run_task(cluster.io, list_jobs(cluster.engines, cluster.nodes));
    REQUIRE(list.errors.size() == 1);
    CHECK(list.errors[0].where == "node-1");
    CHECK(list.errors[0].message == "it reports more than 1000 jobs");

    cluster.fakes[1]->fail("create_exec", {ErrorKind::unreachable, "", "connection refused", ""});
    list = run_task(cluster.io, list_jobs(cluster.engines, cluster.nodes));
    CHECK(list.jobs.size() == 2);
    REQUIRE(list.errors.size() == 1);
    CHECK(to_text(list.errors[0]) == "node-1: connection refused");
}

TEST_CASE("a job is stopped on every node, and each answers for itself") {
    FakeCluster cluster;
    std::vector<std::int64_t> graces;
    cluster.fakes[0]->on_exec("job stop", [&](FakeExec exec) -> Task<int> {
        graces.push_back(query_of(exec).grace_ms);
        exec.out(exited({.code = 143, .stopped = true, .reason = "stop"}));
        co_return 0;
    });
    wire::JobEvent error{.type = wire::JobEvent::Type::error};
    error.error = {ErrorKind::job, "", "these processes do not end: 7", ""};
    cluster.fakes[1]->on_exec(
        "job stop", wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::job_event(error)}));
    const auto results = run_task(
        cluster.io, stop_job(cluster.engines, cluster.nodes, JobId("job-1"), std::chrono::seconds(2)));
    REQUIRE(results.size() == 2);
    CHECK(results[0]->reason == "stop");
    CHECK(graces == std::vector<std::int64_t>{2000});
    CHECK(to_text(results[1].error()) == "node-1: these processes do not end: 7");
}

} // namespace follow_job_test

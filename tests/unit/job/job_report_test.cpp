#include "client/job/job_report.hpp"
#include "golden.hpp"

#include <cstdlib>
#include <ctime>

namespace job_report_test {

using namespace dockdist;

namespace {

wire::JobResult failed(int rank, int code, int signal = 0) {
    wire::JobResult result{.code = code, .signal = signal};
    result.failures.push_back({.rank = rank, .code = code, .signal = signal});
    return result;
}

wire::JobResult told(const char* reason, int code = 143) {
    return {.code = code, .signal = code > 128 ? code - 128 : 0, .stopped = true, .reason = reason};
}

KnownJob job(const char* name, std::vector<wire::JobResult> results, bool running = false) {
    KnownJob known{.job = JobId(name)};
    for (std::size_t i = 0; i < results.size(); ++i) {
        KnownPart part;
        part.node.name = NodeName("node-" + std::to_string(i));
        part.summary = {.job = name,
                        .running = running,
                        .started_ms = 1772300000000,
                        .duration_ms = 200000,
                        .argv = {"python", "train.py", "--lr", "0.1"},
                        .result = std::move(results[i])};
        known.parts.push_back(std::move(part));
    }
    return known;
}

} // namespace

TEST_CASE("a job that runs on any node runs") {
    auto known = job("a", {failed(1, 7), {}});
    known.parts[1].summary.running = true;
    const auto report = report_of(known);
    CHECK(report.state == JobState::running);
    CHECK_FALSE(report.exit_code.has_value());
    CHECK(report.first_failure->code == 7);
}

TEST_CASE("a job whose supervisor was killed is lost") {
    auto result = failed(-1, 137, 9);
    result.reason = "lost";
    CHECK(report_of(job("a", {result, {}})).state == JobState::lost);
}

TEST_CASE("the table of jobs") {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    auto lost = failed(-1, 137, 9);
    lost.reason = "lost";
    auto out_of_memory = failed(3, 137, 9);
    out_of_memory.failures[0].oom = true;
    auto unknown_end = job("gone", {lost});
    unknown_end.parts[0].summary.duration_ms = 0;
    auto long_command = job("job-1a2b3c4d", {failed(11, 139, 11)});
    long_command.parts[0].summary.argv = {"python", "a b", "\x1b[2J\n", std::string(100, 'x')};
    auto same = job("train-1", {{}, {}}, true);
    auto others = job("train-2", {{}, {}}, true);
    for (std::size_t i = 0; i < 2; ++i) {
        same.parts[i].summary.owner = others.parts[i].summary.owner = "user-a@desk";
        for (int gpu = 0; gpu < 4; ++gpu) {
            same.parts[i].summary.units.push_back({.id = "GPU-a", .index = gpu});
        }
        others.parts[i].summary.units.push_back({.id = "GPU-b", .index = static_cast<int>(4 + i)});
    }
    auto slots = job("slots", {{}}, true);
    slots.parts[0].summary.owner = "a-user-with-a-long-name@a-machine-with-a-longer-one";
    slots.parts[0].summary.units.push_back({.id = "slot:llm/node-0/0"});
    std::vector<JobReport> reports;
    for (const auto& known :
         {same, others, slots, job("done", {{}, {}}), job("code", {told("stop"), failed(3, 7)}),
          job("memory", {out_of_memory}), long_command, job("stopped", {told("stop"), told("stop")}),
          job("unheld", {told("lease")}), job("late", {told("timeout")}), unknown_end}) {
        reports.push_back(report_of(known));
    }
    check_golden("job/jobs.txt", jobs_text(reports, no_terminal));
}

TEST_CASE("where a service answers is a column, where a job has one") {
    auto answers = job("answers", {{}}, true);
    answers.parts[0].summary.policy.ready = "http://:8000/health";
    answers.parts[0].summary.ready = "http://10.0.0.1:8000";
    auto waits = job("waits", {{}}, true);
    waits.parts[0].summary.policy.ready = "http://:8000/health";
    CHECK(jobs_text({report_of(job("plain", {{}}))}, no_terminal).find("ADDRESS") == std::string::npos);
    const auto text =
        jobs_text({report_of(answers), report_of(waits), report_of(job("plain", {{}}))}, no_terminal);
    CHECK(text.find("  ADDRESS               COMMAND") != std::string::npos);
    CHECK(text.find("  http://10.0.0.1:8000  python") != std::string::npos);
    CHECK(text.find("  not ready             python") != std::string::npos);
}

TEST_CASE("the table of a job's results has a row for each result, failures first") {
    auto over = told("over");
    over.code = 0;
    auto two_failed = failed(5, 7);
    two_failed.failures.push_back({.rank = 6, .code = 1});
    wire::JobResult plain{.code = 3};
    std::vector<NodeOutcome> nodes;
    for (const auto& result : std::vector<std::optional<wire::JobResult>>{
             told("stop"), wire::JobResult{}, two_failed, told("lease"), std::nullopt, told("timeout"),
             told("stop"), over, plain}) {
        nodes.push_back({.node = NodeName("node-" + std::to_string(nodes.size())), .result = result});
    }
    for (int i = 0; i < 55; ++i) {
        nodes.push_back({.node = NodeName("other-" + std::to_string(i)), .result = told("stop")});
    }
    check_golden("job/results.txt", results_text(nodes, no_terminal));
}

} // namespace job_report_test

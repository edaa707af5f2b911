#include "client/job/job_details.hpp"
#include "client/job/page/job_page.hpp"
#include "fakes/job_usage.hpp"
#include "golden.hpp"

#include <cstdlib>
#include <ctime>

namespace job_details_test {

using namespace dockdist;

namespace {

std::string page_of(const JobReport& job, int nodes) {
    return job_page(job, made_up_histories(nodes, 60),
                    {.cluster = "vision", .time = "2026-11-23 20:00 UTC", .version = "0.1.0"});
}

} // namespace

TEST_CASE("all that is known of a job") {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    auto running = made_up_job(1);
    running.state = JobState::running;
    running.exit_code.reset();
    running.first_failure.reset();
    running.units = {{NodeName("node-0"), {{.id = "GPU-a", .index = 0}, {.id = "GPU-b", .index = 1}}}};
    running.ready_at = "http://10.0.0.1:8000";
    auto new_one = running;
    new_one.usage.clear();
    auto short_one = new_one;
    short_one.state = JobState::done;
    short_one.units.clear();
    const OutputTraits narrow{.unicode = true, .columns = 60};
    check_golden("job/details.txt", job_details_text(made_up_job(2)) + "\n" + job_details_text(running) +
                                        "\n" + job_details_text(new_one) + "\n" +
                                        job_details_text(short_one) + "\n" +
                                        job_details_text(made_up_job(2), narrow) + "\n" +
                                        job_details_text(made_up_job(40), no_terminal, 6));
}

TEST_CASE("what the parts of a job have used is theirs, whether they run or not") {
    KnownJob job{.job = JobId("a")};
    for (int i = 0; i < 3; ++i) {
        auto& part = job.parts.emplace_back();
        part.node.name = NodeName("node-" + std::to_string(i));
        part.summary = {.job = "a", .running = i == 1, .started_ms = 1, .duration_ms = 5000};
        if (i != 2) {
            part.summary.result.usage = {.gpus = 1, .duration_ms = 4000};
        }
    }
    const auto report = report_of(job);
    REQUIRE(report.usage.size() == 2); // a node of an older dockdist tells of none
    CHECK(report.usage[1].node.str() == "node-1");
    CHECK(sum_usage(report.usage).gpus == 2);
}

TEST_CASE("of nodes of which nothing was measured there is no table, and all fits a narrow terminal") {
    auto job = made_up_job(2);
    for (auto& node : job.usage) {
        node.usage.figures.clear();
        node.usage.findings.clear();
    }
    CHECK(node_usage_table(job.usage).empty());
    const auto text = job_details_text(job, {.unicode = true, .columns = 40});
    CHECK(text.find("\nnothing was measured: it was too short,\n    or its nodes keep no record\n") !=
          std::string::npos);
}

TEST_CASE("a node that the latest attempt holds in reserve is named, and judged by nobody") {
    KnownJob job{.job = JobId("a")};
    wire::JobPolicy now{.parts = {{.node = "node-0"},
                                  {.node = "node-1", .lost = true},
                                  {.node = "node-2"},
                                  {.node = "node-3"}},
                        .members = {0, 2}};
    for (int i = 0; i < 4; ++i) {
        auto& part = job.parts.emplace_back();
        part.node.name = NodeName("node-" + std::to_string(i));
        part.summary = {.job = "a", .started_ms = 1, .duration_ms = 60'000, .policy = now};
        part.summary.policy.members = {0, 1}; // as it began
        part.summary.result.usage = {.gpus = 1,
                                     .duration_ms = 60'000,
                                     .figures = {{.figure = wire::Figure::gpu_utilization,
                                                  .mean = i == 3 ? 0.0 : 90.0,
                                                  .peak = i == 3 ? 0.0 : 100.0,
                                                  .seconds = 60,
                                                  .peak_gpu = 0}}};
    }
    job.parts[2].summary.policy = now;
    job.parts[2].summary.result.attempt = 1;
    const auto report = report_of(job);
    REQUIRE(report.usage.size() == 4);
    CHECK_FALSE(report.usage[1].spare); // lost: until then it was a member
    CHECK_FALSE(report.usage[2].spare);
    CHECK(report.usage[3].spare);
    const auto text = job_details_text(report);
    CHECK(text.find("\nnode-3 (spare)       0 %\n") != std::string::npos);
    CHECK(text.find("GPU load  90 %") != std::string::npos);
    CHECK(text.find("\n! ") == std::string::npos);
}

TEST_CASE("a job's page holds foreign text as text, and asks for nothing from elsewhere") {
    auto job = made_up_job(2);
    job.usage[0].usage.findings = {
        {.kind = wire::Finding::Kind::disk_full, .disk = "/<i>\x1b[2J", .about = "none left"}};
    const auto page = page_of(job, 2);
    CHECK(page.find("<li>node-0: /&lt;i&gt;\\x1b[2J has none left</li>") != std::string::npos);
    CHECK(job_details_text(job).find("! node-0: /<i>\\x1b[2J has none left\n") != std::string::npos);
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
    CHECK(page.find("Traceback &lt;b&gt;&amp;\\x1b[2J") != std::string::npos);
    CHECK(page.find("http://") == std::string::npos);
    CHECK(page.find("https://") == std::string::npos);
    CHECK(page.find("nan") == std::string::npos);
}

TEST_CASE("a job's page says what stands out, and leaves out what there is not") {
    const auto page = page_of(made_up_job(2), 2);
    CHECK(page.find("node-1: rank 3 exited with 7: the loss is not a number") != std::string::npos);
    CHECK(page.find("<li>GPU 1 of node-1 did nothing all the time</li>") != std::string::npos);
    CHECK(page.find("<li>the GPUs of node-1 were busy 44 % of the time, those of others 91 %</li>") !=
          std::string::npos);
    CHECK(page.find("<li>node-1 GPU 0: 100 % busy at 102 W of 700 W for 1 min: it waits for others") !=
          std::string::npos);
    CHECK(page.find("<h3>network, GiB/s</h3>") != std::string::npos);
    CHECK(page.find("<h3>RDMA") == std::string::npos);
    CHECK(page.find("<details open><summary>node-1</summary>") != std::string::npos);
    auto bare = made_up_job(1);
    bare.usage.clear();
    bare.first_failure.reset();
    const auto empty = job_page(bare, {}, {});
    CHECK(empty.find("What stands out") == std::string::npos);
    CHECK(empty.find("Over time") == std::string::npos);
    CHECK(empty.find("What it used") == std::string::npos);
}

TEST_CASE("the page of a job on 64 nodes stays small enough to open") {
    const auto page = page_of(made_up_job(64), 64);
    CHECK(page.size() < 3'000'000);
    CHECK(page.find("Over time, all nodes: the mean, between the lowest and the highest") !=
          std::string::npos);
    CHECK(page.find("<details><summary>node-63</summary>") != std::string::npos);
}

} // namespace job_details_test

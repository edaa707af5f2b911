// What nodes tell of what a job has used. What is read can be written again, and then says the same; whatever
// it holds, its screen and its page come out, bounded, with no control character and no piece of HTML of its
// own.
#include "client/job/job_details.hpp"
#include "client/job/page/used_page.hpp"
#include "client/job/used_text.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/usage/recorder.hpp"
#include "shared/wire/job.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace {

using namespace dockdist;

constexpr std::size_t most_of_a_page = 64U << 20U;

JobReport report_of_two(const wire::JobUsage& usage) {
    JobReport report{
        .job = JobId("j"), .state = JobState::done, .nodes = {NodeName("node-0"), NodeName("node-1")}};
    report.usage = {{.node = NodeName("node-0"), .usage = usage},
                    {.node = NodeName("node-1"), .usage = usage}};
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
        report.times.push_back({.node = report.nodes[i],
                                .gpus = usage.gpus,
                                .begin_ms = 1,
                                .end_ms = 1 + usage.duration_ms,
                                .usage = i});
    }
    return report;
}

// Of a span that cuts its time in two.
void sums(const JobReport& report) {
    const std::vector<JobReport> jobs{report};
    const Span span{.since_ms = report.times.front().end_ms / 2};
    const auto table = used_by(UsedBy::node, jobs, span);
    const auto idle = table.total.idle();
    fuzz::require(!idle || (*idle >= 0 && *idle <= 1), "a share is one");
    fuzz::require(table.total.load_hours <= table.total.gpu_hours * 1.001,
                  "no more was measured than there was");
    const auto text = used_text(table, span, no_terminal) + used_page(jobs, span, {});
    fuzz::require(text.find("nan") == std::string::npos, "sums are numbers");
}

void histories(std::string_view line) {
    const auto history = wire::parse_job_history(line);
    if (!history) {
        return;
    }
    const auto written = wire::job_history_line(*history);
    const auto again = wire::parse_job_history(written);
    fuzz::require(again.has_value(), "what was read can be written again");
    fuzz::require_equal(written, wire::job_history_line(*again), "and then says the same");
    const auto thin = thinned(*history, 7);
    for (const auto& curve : thin.curves) {
        fuzz::require(curve.points.size() <= 7, "a history is made as thin as is asked for");
    }
    const std::vector<NodeHistory> nodes{{.node = NodeName("node-0"), .history = *history},
                                         {.node = NodeName("node-1"), .history = thin}};
    const auto page = job_page(report_of_two({}), nodes, {.cluster = "c", .time = "t", .version = "v"});
    fuzz::require(page.size() < most_of_a_page, "a page is bounded");
    fuzz::require(page.find("nan") == std::string::npos && page.find("inf\"") == std::string::npos,
                  "a picture is made of numbers");
}

void usages(std::string_view text) {
    const auto result = wire::parse_job_result(text);
    if (!result) {
        return;
    }
    const auto report = report_of_two(result->usage);
    fuzz::require(fuzz::has_no_controls(job_details_text(report), true),
                  "no control character in the screen");
    sums(report);
    fuzz::require(job_page(report, {}, {}).find("<script") == std::string::npos,
                  "no HTML of another's in the page");
}

constexpr std::array<fuzz::Read, 2> kinds{histories, usages};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const wire::JobHistory history{
        .started_ms = 1772300000000,
        .step_ms = 2000,
        .curves = {{.figure = wire::Figure::gpu_power,
                    .gpu = 3,
                    .points = {wire::CurvePoint{.least = 70.5, .mean = 71.3, .most = 700}, std::nullopt,
                               wire::CurvePoint{.least = 1, .mean = 2, .most = 3}}},
                   {.figure = wire::Figure::network_sent,
                    .points = {wire::CurvePoint{.least = 5, .mean = 5, .most = 5}}}}};
    wire::JobResult result;
    result.usage = {
        .gpus = 2,
        .duration_ms = 5000,
        .figures = {{.figure = wire::Figure::gpu_utilization,
                     .mean = 87.25,
                     .peak = 99.5,
                     .seconds = 9.5,
                     .peak_gpu = 1},
                    {.figure = wire::Figure::rdma_sent, .mean = 8192, .peak = 8192, .seconds = 5}},
        .findings = {{.gpu = 3, .for_ms = 72'000, .about = "102 W of 700 W"},
                     {.kind = wire::Finding::Kind::disk_full, .disk = "/", .about = "1 GiB left"}}};
    return {of_kind(0, wire::job_history_line(history)), of_kind(1, nlohmann::json(result).dump())};
}

#include "cli/context.hpp"
#include "job/job_list.hpp"
#include "job/job_report.hpp"
#include "report/output.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iterator>
#include <unistd.h>

namespace dockdist {
namespace {

nlohmann::json to_json(const JobReport& report) {
    nlohmann::json json{{"job", report.job.str()},
                        {"state", to_string(report.state)},
                        {"nodes", nlohmann::json::array()},
                        {"started_ms", report.started_ms},
                        {"duration_ms", nullptr},
                        {"exit_code", nullptr},
                        {"stop_reason", report.reason},
                        {"first_failure", nullptr},
                        {"command", nlohmann::json::array()},
                        {"owner", report.owner},
                        {"ready", nullptr},
                        {"gpus", nlohmann::json::array()}};
    for (const auto& node : report.nodes) {
        json["nodes"].push_back(node.str());
    }
    for (const auto& [node, units] : report.units) {
        json["gpus"].push_back({{"node", node.str()}, {"units", units}});
    }
    for (const auto& word : report.command) {
        json["command"].push_back(word);
    }
    if (report.duration_ms > 0) {
        json["duration_ms"] = report.duration_ms;
    }
    if (report.exit_code) {
        json["exit_code"] = *report.exit_code;
    }
    if (!report.ready_at.empty()) {
        json["ready"] = report.ready_at;
    }
    if (report.first_failure) {
        json["first_failure"] = *report.first_failure;
    }
    return json;
}

Task<int> run_jobs(Context& context) {
    auto cluster = co_await attach_to_cluster(context);
    auto errors = std::move(cluster.errors);
    auto list = co_await list_jobs(cluster.engines, cluster.nodes);
    std::ranges::move(list.errors, std::back_inserter(errors));
    if (cluster.nodes.empty()) {
        co_return context.fail(errors);
    }
    std::vector<JobReport> reports;
    auto json = nlohmann::json::array();
    for (const auto& job : list.jobs) {
        reports.push_back(report_of(job));
        json.push_back(to_json(reports.back()));
    }
    if (context.json()) {
        context.print_json({{"jobs", std::move(json)}});
    } else {
        context.print(jobs_text(reports, probe_output(STDOUT_FILENO).unicode));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_jobs(CLI::App& app, Program& program) {
    auto* command = app.add_subcommand("jobs", "Show the jobs that the nodes know of, the latest last: those "
                                               "that run, and of the others the last 50 of the last 7 days");
    command->callback([&program] { program.work = run_jobs; });
}

} // namespace dockdist

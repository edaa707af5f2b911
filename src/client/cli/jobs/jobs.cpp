#include "client/cli/context.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/host_answers.hpp"
#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/jobs/job_page.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/report_file.hpp"
#include "client/job/host_jobs.hpp"
#include "client/job/job_details.hpp"
#include "client/job/job_list.hpp"
#include "client/job/job_report.hpp"
#include "shared/load/findings.hpp"
#include "shared/usage/findings.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iterator>

namespace dockdist {
namespace {

nlohmann::json to_json(const JobReport& report, const KnownJob& job) {
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
                        {"gpus", nlohmann::json::array()},
                        {"usage", nullptr},
                        {"usage_by_node", nlohmann::json::array()},
                        {"findings", nlohmann::json::array()}};
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
    if (!report.usage.empty()) {
        json["usage"] = usage_json(sum_usage(report.usage));
    }
    for (const auto& node : report.usage) {
        auto own = usage_json(sum_usage({node}));
        own["node"] = node.node.str();
        own["spare"] = node.spare;
        json["usage_by_node"].push_back(std::move(own));
    }
    for (auto finding : recorded_findings(report.usage)) {
        finding.job = report.job.str();
        json["findings"].push_back(finding_json(finding));
    }
    if (report.first_failure) {
        auto failure = *report.first_failure;
        number_rank(failure, failure.node, wire::command_ranks(latest_of(job).policy));
        json["first_failure"] = failure;
    }
    return json;
}

struct JobsOptions {
    std::string job{};  // empty: all
    std::string page{}; // --report
    bool all_clusters = false;
};

nlohmann::json host_jobs_json(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names) {
    auto all = nlohmann::json::array();
    for (const auto& host : hosts) {
        nlohmann::json json{
            {"host", names.at(host.host)}, {"jobs", nlohmann::json::array()}, {"problems", host.problems}};
        for (const auto& job : jobs_on_host(host)) {
            nlohmann::json entry(job.who);
            entry["state"] = job.units.empty() ? "waiting" : "running";
            entry["units"] = job.units;
            entry["wanted"] = job.wanted;
            entry["priority"] = job.priority;
            json["jobs"].push_back(std::move(entry));
        }
        all.push_back(std::move(json));
    }
    return {{"hosts", std::move(all)}};
}

Task<int> show_all_clusters(Context& context, const Attached& cluster) {
    std::vector<std::size_t> hosts;
    for (std::size_t i = 0; i < cluster.reached.size(); ++i) {
        if (cluster.reached[i]) {
            hosts.push_back(i);
        }
    }
    auto errors = cluster.errors;
    forget_nodes(cluster, errors, Forget::all);
    if (hosts.empty()) {
        co_return context.fail(errors);
    }
    auto answers = co_await ask_hosts_of(context, cluster, std::move(hosts), true);
    std::ranges::move(answers.errors, std::back_inserter(errors));
    const auto names = host_names(cluster.spec);
    if (context.json()) {
        context.print_json(host_jobs_json(answers.hosts, names));
    } else {
        context.show(host_jobs_text(answers.hosts, names, context.output(), context.table_rows(false)));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

Task<int> show_one(Context& context, const Attached& cluster, const JobList& list, Errors errors,
                   JobsOptions options) {
    auto job = choose_job(list.jobs, JobId(options.job));
    if (!job) {
        errors.push_back(job.error());
        co_return fail_before(context, errors);
    }
    auto report = report_of(*job);
    if (report.first_failure) {
        explain_left_out(cluster.spec, cluster.spec.container.workdir, *report.first_failure);
    }
    if (context.json()) {
        context.print_json({{"jobs", nlohmann::json::array({to_json(report, *job)})}});
    } else {
        context.show(job_details_text(report, context.output(), context.table_rows(false)));
    }
    if (!options.page.empty()) {
        const auto written = co_await write_job_page(context, cluster, std::move(*job), options.page);
        if (!written) {
            errors.push_back(written.error());
        }
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

Task<int> run_jobs(Context& context, JobsOptions options) {
    if (!options.page.empty()) {
        if (const auto writable = report_file(options.page).check(); !writable) {
            co_return context.fail(writable.error());
        }
    }
    auto cluster = co_await attach_to_cluster(context, {.looks = true, .words = Words::of_jobs});
    if (options.all_clusters) {
        co_return co_await show_all_clusters(context, cluster);
    }
    if (!options.job.empty() && has_no_nodes(cluster)) {
        co_return fail_before(context, {no_job_before_up(cluster.spec, options.job)});
    }
    if (has_no_nodes(cluster)) {
        if (context.json()) {
            context.print_json({{"jobs", nlohmann::json::array()}});
        } else {
            context.tell(cluster.spec.name.str() + " has no nodes yet: `dockdist up` creates them\n");
        }
        co_return 0;
    }
    auto errors = std::move(cluster.errors);
    auto list = co_await list_jobs(cluster.engines, cluster.nodes, context.reporter);
    std::ranges::move(list.errors, std::back_inserter(errors));
    if (cluster.nodes.empty()) {
        co_return context.fail(errors);
    }
    if (!options.job.empty()) {
        co_return co_await show_one(context, cluster, list, std::move(errors), std::move(options));
    }
    std::vector<JobReport> reports;
    auto json = nlohmann::json::array();
    std::erase_if(list.jobs, is_of_setup);
    for (const auto& job : list.jobs) {
        reports.push_back(report_of(job));
        json.push_back(to_json(reports.back(), job));
    }
    if (context.json()) {
        context.print_json({{"jobs", std::move(json)}});
    } else {
        context.show(jobs_text(reports, context.output()));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_jobs(CLI::App& app, Program& program) {
    auto options = std::make_shared<JobsOptions>();
    auto* command =
        describe(app.add_subcommand("jobs", "Show the jobs that the nodes know of, the latest "
                                            "last: those that are running, and the last 50 that ended in "
                                            "the last 7 days; or everything about one"),
                 command_group::jobs,
                 {"dockdist jobs", "dockdist jobs job-1a2b3c4d --report job.html",
                  "dockdist jobs --all-clusters   # whose jobs have these hosts' GPUs"});
    auto* job = command->add_option("JOB", options->job, "One job alone, with what it has used");
    command
        ->add_option("--report", options->page,
                     "Also write what it has used as one HTML page, with curves over time")
        ->type_name("FILE.html")
        ->needs(job);
    command
        ->add_flag("--all-clusters", options->all_clusters,
                   "The jobs of every cluster on these hosts that have GPUs or slots or wait for some, also "
                   "before `up`")
        ->excludes(job);
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_jobs(context, *options); };
    });
}

} // namespace dockdist

#include "client/async/cleanup.hpp"
#include "client/cli/context.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/host_answers.hpp"
#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/jobs/job_page.hpp"
#include "client/cli/kept_stores.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/report_file.hpp"
#include "client/job/diagnosis_text.hpp"
#include "client/job/host_jobs.hpp"
#include "client/job/job_details.hpp"
#include "client/job/job_list.hpp"
#include "client/job/job_report.hpp"
#include "client/job/page/used_page.hpp"
#include "client/job/used_text.hpp"
#include "shared/core/timestamp.hpp"
#include "shared/load/findings.hpp"
#include "shared/usage/findings.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
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
                        {"waited_ms", nullptr},
                        {"exit_code", nullptr},
                        {"stop_reason", report.reason},
                        {"first_failure", nullptr},
                        {"command", nlohmann::json::array()},
                        {"owner", report.owner},
                        {"ready", nullptr},
                        {"hang", hang_json(report.hang)},
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
    if (report.waited_ms) {
        json["waited_ms"] = *report.waited_ms;
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
    std::string job{};            // empty: all
    std::string page{};           // --report
    std::string since{}, until{}; // empty: no bound
    std::string by{};             // empty: a list of jobs
    bool all_clusters = false;
};

Result<Span> span_of(const JobsOptions& options) {
    Span span;
    const auto now = unix_now_ms();
    if (!options.since.empty()) {
        span.since_ms = moment_ms(options.since, now).value_or(now);
    }
    if (!options.until.empty()) {
        span.until_ms = moment_ms(options.until, now).value_or(now);
    }
    if (span.until_ms <= span.since_ms) {
        return Error{ErrorKind::usage, "--until", "nothing lies between --since and --until",
                     "the first one has to be the earlier one"};
    }
    return span;
}

// What is wrong with the line, and can be told before anybody is asked.
Status judge_line(const Context& context, const JobsOptions& options) {
    if (options.all_clusters && context.csv()) {
        return Error{ErrorKind::usage, "--output", "csv is of this cluster's jobs",
                     "leave out --all-clusters, or take json"};
    }
    return options.page.empty() ? ok : report_file(options.page).check();
}

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
    } else if (context.csv()) {
        context.print_csv(jobs_csv({report}));
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

void show_used(const Context& context, const UsedTable& table, const Span& span) {
    if (context.json()) {
        context.print_json(used_json(table, span));
    } else if (context.csv()) {
        context.print_csv(used_csv(table));
    } else {
        context.show(used_text(table, span, context.output()));
    }
}

void show_list(const Context& context, const std::vector<KnownJob>& jobs,
               const std::vector<JobReport>& reports, const Span& span) {
    auto json = nlohmann::json::array();
    std::vector<JobReport> shown;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!is_within(reports[i], span)) {
            continue;
        }
        if (context.json()) {
            json.push_back(to_json(reports[i], jobs[i]));
        } else {
            shown.push_back(reports[i]);
        }
    }
    if (context.json()) {
        context.print_json({{"jobs", std::move(json)}});
    } else if (context.csv()) {
        context.print_csv(jobs_csv(shown));
    } else {
        context.show(jobs_text(shown, context.output()));
    }
}

// Why there is nothing to show, to people.
std::string no_jobs_text(const Attached& cluster, const std::vector<JobReport>& reports) {
    const auto name = cluster.spec.name.str();
    return has_no_nodes(cluster) ? name + " has no nodes yet: `dockdist up` creates them\n"
           : reports.empty()
               ? "no job on record in " + name + ": `dockdist run -- COMMAND` starts one\n"
               : fmt::format("no job of that time on record: `dockdist jobs` shows {} of other times\n",
                             reports.size());
}

// A span of time is of all that nodes have kept, a list of the latest.
JobsWanted wanted_of(const JobsOptions& options) {
    if (!options.job.empty()) {
        return {.name = named_run(JobId(options.job)).name};
    }
    return {.all = !options.since.empty() || !options.until.empty() || !options.by.empty() ||
                   !options.page.empty()};
}

Task<int> show_jobs(Context& context, JobsOptions options, Attached& cluster, StoreReaders& readers) {
    const auto span = span_of(options);
    if (!span) {
        co_return context.fail(span.error());
    }
    if (const auto good = judge_line(context, options); !good) {
        co_return context.fail(good.error());
    }
    cluster = co_await attach_to_cluster(context, {.looks = true, .words = Words::of_jobs});
    if (options.all_clusters) {
        co_return co_await show_all_clusters(context, cluster);
    }
    const bool kept = co_await open_kept_stores(context, cluster, readers);
    const bool none = !kept && has_no_nodes(cluster);
    if (!options.job.empty() && none) {
        co_return fail_before(context, {no_job_before_up(cluster.spec, options.job)});
    }
    JobList list;
    Errors errors;
    if (!none) {
        errors = cluster.errors;
        list = co_await list_jobs(cluster.engines, cluster.nodes, context.reporter, wanted_of(options));
        std::ranges::move(list.errors, std::back_inserter(errors));
        if (cluster.nodes.empty()) {
            co_return context.fail(errors);
        }
    }
    if (!options.job.empty()) {
        co_return co_await show_one(context, cluster, list, std::move(errors), std::move(options));
    }
    std::erase_if(list.jobs, is_of_setup);
    std::vector<JobReport> reports;
    std::ranges::transform(list.jobs, std::back_inserter(reports), report_of);
    const bool any =
        std::ranges::any_of(reports, [&](const JobReport& job) { return is_within(job, *span); });
    if (!any && !context.json() && !context.csv()) {
        context.tell(no_jobs_text(cluster, reports));
    } else if (options.by.empty()) {
        show_list(context, list.jobs, reports, *span);
    } else {
        const auto by = options.by == "user"  ? UsedBy::user
                        : options.by == "job" ? UsedBy::job
                                              : UsedBy::node;
        show_used(context, used_by(by, reports, *span), *span);
    }
    if (!options.page.empty()) {
        const auto written = report_file(options.page)
                                 .write(used_page(reports, *span,
                                                  {.cluster = cluster.spec.name.str(),
                                                   .time = report_time(),
                                                   .version = DOCKDIST_VERSION}));
        if (!written) {
            errors.push_back(written.error());
        }
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

Task<int> run_jobs(Context& context, JobsOptions options) {
    Attached cluster;
    StoreReaders readers;
    co_return co_await with_cleanup(show_jobs(context, std::move(options), cluster, readers),
                                    [&]() -> Task<void> { co_await readers.close(cluster.engines); });
}

} // namespace

void add_jobs(CLI::App& app, Program& program) {
    auto options = std::make_shared<JobsOptions>();
    auto* command =
        describe(app.add_subcommand("jobs", "Show the jobs that the nodes know of, the latest "
                                            "last: those that are running, and the last 50 that ended, "
                                            "also while the cluster is down; or everything about one"),
                 command_group::jobs,
                 {"dockdist jobs", "dockdist jobs job-1a2b3c4d --report job.html",
                  "dockdist jobs --since 7d --by user   # who used what",
                  "dockdist jobs --since 2026-11-01 --until 2026-12-01 -o csv",
                  "dockdist jobs --all-clusters   # whose jobs have these hosts' GPUs"});
    auto* job = command->add_option("JOB", options->job, "One job alone, with what it has used");
    auto* page = command
                     ->add_option("--report", options->page,
                                  "Also write one HTML page: of JOB what it has used, with curves over the "
                                  "time; else who used what")
                     ->type_name("FILE.html");
    auto* since =
        moment(command->add_option("--since", options->since,
                                   "Jobs that ran since then: a duration back from now (30d), a day "
                                   "(2026-11-01) or a point in time"))
            ->excludes(job);
    auto* until = moment(command->add_option("--until", options->until, "And before then"))->excludes(job);
    auto* by = choice(command->add_option("--by", options->by,
                                          "In place of a list who used what: GPU hours, how many of them "
                                          "idle, energy, waiting, jobs, failures"),
                      {"user", "job", "node"})
                   ->excludes(job);
    command
        ->add_flag("--all-clusters", options->all_clusters,
                   "The jobs of every cluster on these hosts that have GPUs or slots or wait for some, also "
                   "before `up`")
        ->excludes(job)
        ->excludes(page)
        ->excludes(since)
        ->excludes(until)
        ->excludes(by);
    command->callback([options, &program] {
        program.one_value = true;
        program.has_csv = true;
        program.work = [options](Context& context) { return run_jobs(context, *options); };
    });
}

} // namespace dockdist

#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/line/values.hpp"
#include "client/job/follow_job.hpp"
#include "client/job/job_report.hpp"
#include "shared/core/ending_signals.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

struct StopOptions {
    std::vector<std::string> jobs{};
    std::string grace = flag_duration(wire::default_grace);
    std::string signal{};
};

std::string words(const JobReport& before, const std::vector<std::string>& nodes) {
    if (before.state == JobState::running) {
        return fmt::format("{}: stopped on {}\n", before.job.str(), list_names(nodes));
    }
    return fmt::format("{}: had ended already ({}{})\n", before.job.str(), to_string(before.state),
                       before.exit_code ? fmt::format(", exit code {}", *before.exit_code) : "");
}

struct Stopped {
    nlohmann::json json{};
    std::string text{};
    Errors errors{};
    bool unknown = false;
};

Task<Stopped> stop_one(Context& context, std::string job, const StopOptions& options) {
    const auto grace = parse_duration(options.grace).value_or(wire::default_grace);
    auto found = co_await find_job(context, std::move(job), "", false);
    Stopped stopped{.errors = std::move(found.errors), .unknown = found.unknown};
    if (!found.found) {
        co_return stopped;
    }
    const auto before = report_of(found.job);
    // Also where the job is not known: it may have started processes there over ssh.
    auto results = co_await stop_job(found.cluster.engines, found.cluster.nodes, found.job.job, grace,
                                     ending_signal(options.signal).value_or(0));
    auto json = nlohmann::json::array();
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto& node = found.cluster.nodes[i];
        if (!results[i]) {
            stopped.errors.push_back(results[i].error());
            continue;
        }
        const auto part = std::ranges::find(found.job.parts, node.name,
                                            [](const KnownPart& known) { return known.node.name; });
        if (part != found.job.parts.end()) {
            number_ranks(*results[i], node.name.str(), wire::command_ranks(part->summary.policy));
            json.push_back(
                {{"node", node.name.str()}, {"was_running", part->summary.running}, {"result", *results[i]}});
            if (part->summary.running) {
                nodes.push_back(node.name.str());
            }
        }
    }
    stopped.json = {{"job", found.job.job.str()}, {"nodes", std::move(json)}};
    stopped.text = words(before, nodes);
    co_return stopped;
}

// One after the other: what is wrong with one keeps none of the others.
Task<int> run_stop(Context& context, StopOptions options) {
    auto jobs = nlohmann::json::array();
    Errors errors;
    bool unknown = false;
    for (const auto& job : options.jobs) {
        auto stopped = co_await stop_one(context, job, options);
        if (!context.json()) {
            context.tell(stopped.text);
        }
        if (!stopped.json.is_null()) {
            jobs.push_back(std::move(stopped.json));
        }
        unknown = unknown || stopped.unknown;
        std::ranges::move(stopped.errors, std::back_inserter(errors));
    }
    if (context.json() && options.jobs.size() > 1) {
        context.print_json({{"jobs", std::move(jobs)}});
    } else if (context.json() && !jobs.empty()) {
        context.print_json(jobs.front());
    }
    co_return errors.empty() ? 0 : unknown ? fail_before(context, errors) : context.fail(errors);
}

} // namespace

void add_stop(CLI::App& app, Program& program) {
    auto options = std::make_shared<StopOptions>();
    auto* command =
        describe(app.add_subcommand("stop", "Stop jobs, with all of their processes, on all nodes"),
                 command_group::jobs, {"dockdist stop night", "dockdist stop sweep-1 sweep-2"});
    command->add_option("JOB", options->jobs, "Names, as `run` and `jobs` show them")->required();
    duration(command->add_option("--grace", options->grace, "Time between the signal and KILL; 0: at once"),
             std::chrono::milliseconds(0))
        ->capture_default_str();
    stop_signal(command->add_option(
        "--signal", options->signal,
        "The signal that tells each rank to end, sent once: TERM, INT, HUP, QUIT, USR1 or USR2 "
        "(default: what the job was run with)"));
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_stop(context, *options); };
    });
}

} // namespace dockdist

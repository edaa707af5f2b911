#include "cli/jobs/find_job.hpp"
#include "cli/line/values.hpp"
#include "core/ending_signals.hpp"
#include "core/host_list.hpp"
#include "core/units.hpp"
#include "job/follow_job.hpp"
#include "job/job_report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

struct StopOptions {
    std::string job{};
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

Task<int> run_stop(Context& context, StopOptions options) {
    const auto grace = parse_duration(options.grace).value_or(wire::default_grace);
    auto found = co_await find_job(context, options.job, "", false);
    if (!found.found) {
        co_return context.fail(found.errors);
    }
    const auto before = report_of(found.job);
    // Also where the job is not known: it may have started processes there over ssh.
    const auto results = co_await stop_job(found.cluster.engines, found.cluster.nodes, found.job.job, grace,
                                           ending_signal(options.signal).value_or(0));
    auto errors = std::move(found.errors);
    auto json = nlohmann::json::array();
    std::vector<std::string> stopped;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto& node = found.cluster.nodes[i];
        if (!results[i]) {
            errors.push_back(results[i].error());
            continue;
        }
        const auto part = std::ranges::find(found.job.parts, node.name,
                                            [](const KnownPart& known) { return known.node.name; });
        if (part != found.job.parts.end()) {
            json.push_back(
                {{"node", node.name.str()}, {"was_running", part->summary.running}, {"result", *results[i]}});
            if (part->summary.running) {
                stopped.push_back(node.name.str());
            }
        }
    }
    if (context.json()) {
        context.print_json({{"job", found.job.job.str()}, {"nodes", std::move(json)}});
    } else {
        context.tell(words(before, stopped));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_stop(CLI::App& app, Program& program) {
    auto options = std::make_shared<StopOptions>();
    auto* command = describe(app.add_subcommand("stop", "End a job and every process of it, on all nodes"),
                             command_group::jobs, {"dockdist stop night"});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it")->required();
    duration(command->add_option("--grace", options->grace, "Time between the signal and KILL; 0: at once"),
             std::chrono::milliseconds(0))
        ->capture_default_str();
    stop_signal(
        command->add_option("--signal", options->signal,
                            "By what each rank is told to end, once: TERM, INT, HUP, QUIT, USR1 or USR2 "
                            "(default: what the job was run with)"));
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_stop(context, *options); };
    });
}

} // namespace dockdist

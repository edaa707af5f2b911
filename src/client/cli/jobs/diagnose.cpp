#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/output_file.hpp"
#include "client/job/diagnosis_text.hpp"
#include "client/job/job_report.hpp"
#include "client/job/stack_groups.hpp"
#include "shared/core/ustar.hpp"
#include "shared/job_state/job_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

namespace dockdist {
namespace {

constexpr std::chrono::seconds diagnosis_pause{5};

struct DiagnoseOptions {
    std::string job{};
    std::string save{};
};

// Of a job, what its nodes have recorded and what two looks at its ranks have found now.
struct Diagnosis {
    JobId job{};
    std::optional<wire::Hang> recorded{};
    std::optional<wire::Hang> now{};
    bool sure = false; // what is found now
    JobStacks stacks{};
    std::string end{}; // how it has ended; empty: it runs
};

Diagnosis diagnosis_of(const KnownJob& job, JobStacks stacks) {
    const auto& latest = latest_of(job);
    Diagnosis found{.job = job.job, .recorded = latest.hang, .stacks = std::move(stacks)};
    const auto evidence = evidence_of(found.stacks);
    const auto verdict = judge(evidence);
    if (verdict.kind != HangVerdict::Kind::none) {
        found.sure = verdict.sure;
        found.now = hang_of(verdict, evidence, latest.result.attempt);
    }
    if (!latest.running) {
        const auto report = report_of(job);
        found.end = fmt::format("{} has ended: {}{}", job.job.str(), to_string(report.state),
                                report.first_failure ? ", " + located_text(*report.first_failure) : "");
    }
    return found;
}

std::string text_of(const Diagnosis& found, const OutputTraits& output) {
    std::string text;
    if (found.recorded) {
        text += fmt::format("recorded in attempt {}:\n{}\n", found.recorded->attempt + 1,
                            hang_text(*found.recorded));
    }
    if (!found.end.empty()) {
        return text + found.end + "\n" + (found.recorded ? "" : "no hang of it was recorded\n");
    }
    text += found.now && found.sure ? "now:\n" + hang_text(*found.now) + "\n"
            : found.now             ? "now, and not sure: " + found.now->text + "\n"
                                    : "now: nothing that could be said is sure\n";
    return text + "\n" + evidence_text(found.stacks.ranks) + "\n" +
           stacks_text(found.job, found.stacks, ShownThreads::all, output);
}

nlohmann::json json_of(const Diagnosis& found) {
    return {{"job", found.job.str()},
            {"running", found.end.empty()},
            {"recorded", hang_json(found.recorded)},
            {"now", hang_json(found.now)},
            {"sure", found.sure}};
}

std::string archive_of(const Diagnosis& found) {
    std::string archive;
    const std::pair<const char*, std::string> files[] = {
        {"diagnosis.txt", text_of(found, no_terminal)},
        {"diagnosis.json",
         json_of(found).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"},
        {"ranks.json",
         evidence_json(found.stacks.ranks).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
             "\n"}};
    for (const auto& [name, content] : files) {
        const UstarEntry entry{.name = found.job.str() + "/" + name,
                               .mode = 0644,
                               .size = static_cast<std::int64_t>(content.size())};
        archive += ustar_header(entry) + content + ustar_padding(entry);
    }
    return archive + ustar_end();
}

Task<int> run_diagnose(Context& context, DiagnoseOptions options) {
    const OutputFile file(options.save, "--save");
    if (!options.save.empty()) {
        if (const auto writable = file.check(); !writable) {
            co_return context.fail(writable.error());
        }
    }
    auto found = co_await find_job(context, options.job);
    if (!found.found) {
        co_return found.unknown ? fail_before(context, found.errors) : context.fail(found.errors);
    }
    auto errors = std::move(found.errors);
    forget_lost(errors, left_out_of(found.job), found);
    auto stacks = co_await fetch_stacks(found.cluster.engines, found.job, diagnosis_pause);
    std::ranges::move(std::exchange(stacks.errors, {}), std::back_inserter(errors));
    const auto diagnosis = diagnosis_of(found.job, std::move(stacks));
    if (!options.save.empty()) {
        if (const auto written = file.write(archive_of(diagnosis)); !written) {
            errors.push_back(written.error());
        }
    }
    if (context.json()) {
        context.print_json(json_of(diagnosis));
    } else {
        context.print(text_of(diagnosis, context.output()));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_diagnose(CLI::App& app, Program& program) {
    auto options = std::make_shared<DiagnoseOptions>();
    auto* command = describe(
        app.add_subcommand("diagnose", "Say why a job hangs, with the evidence: two looks at each of "
                                       "its ranks; of a job that has ended, what was recorded"),
        command_group::jobs,
        {"dockdist diagnose              # the latest job", "dockdist diagnose night --save night.tar"});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it (default: the latest)");
    command->add_option("--save", options->save, "Also write the verdict and the evidence as a tar archive")
        ->type_name("FILE");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_diagnose(context, *options); };
    });
}

} // namespace dockdist

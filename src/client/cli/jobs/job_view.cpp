#include "client/cli/jobs/job_view.hpp"

#include "client/cli/line/values.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/timestamp.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace dockdist {

void add_view_options(CLI::App& command, JobViewOptions& options) {
    command.add_flag("--raw", options.raw,
                     "Pass the job's bytes on unchanged: no prefixes, no protection of the terminal");
    command
        .add_option("--log-dir", options.log_folder,
                    "Also write each rank's bytes to a file: FOLDER/JOB/node-0.rank-3.log; FOLDER/JOB must "
                    "not exist yet")
        ->type_name("FOLDER");
}

void add_past_options(CLI::App& command, PastOutput& options) {
    moment(command.add_option("--since", options.since,
                              "Only what was written since then: a duration back from now (10m) or a point "
                              "in time (2026-02-28T17:30:00Z)"));
    number(command.add_option("--tail", options.tail, "Only the last N lines of each rank, and what follows"),
           0, wire::longest_tail);
}

void set_past(const PastOutput& options, wire::JobQuery& query) {
    query.tail = options.tail;
    if (!options.since.empty()) {
        // How long ago that was. Nodes count back from their own clocks, so that these need not agree with
        // ours.
        const auto now = unix_now_ms();
        query.since_ms = std::max<std::int64_t>(now - moment_ms(options.since, now).value_or(now), 0);
    }
}

Result<std::unique_ptr<JobView>> JobView::create(const Context& context, const JobViewOptions& options,
                                                 const JobId& job) {
    std::optional<LogFiles> files;
    if (!options.log_folder.empty()) {
        auto made = LogFiles::create(options.log_folder, job);
        TRY(made);
        files = std::move(*made);
    }
    return std::unique_ptr<JobView>(new JobView(context, options, job, std::move(files)));
}

JobView::JobView(const Context& context, const JobViewOptions& options, const JobId& job,
                 std::optional<LogFiles> files)
    : context_(context), job_(job), sink_(context.executor), files_(std::move(files)), raw_(options.raw) {
    if (context.json()) {
        json_.emplace(sink_);
        return;
    }
    auto output = probe_job_output();
    output.raw = options.raw;
    output.folds = !options.whole;
    screen_.emplace(std::move(output), sink_);
}

JobView::~JobView() {
    if (files_ && !finished_) {
        files_->forget();
    }
}

void JobView::expect(const NodeName& node, int rank) {
    if (screen_) {
        screen_->expect(node, rank);
    }
}

void JobView::number_commands(std::map<std::string, int> ranks) {
    if (json_) {
        json_->number_commands(std::move(ranks));
    }
}

void JobView::tell_json(const nlohmann::json& line) {
    if (json_ && !finished_) {
        json_->tell(line);
    }
}

void JobView::output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) {
    if (screen_) {
        screen_->output(node, rank, stream, bytes);
    } else {
        json_->output(node, rank, stream, bytes);
    }
    if (files_) {
        files_->output(node, rank, stream, bytes);
    }
}

void JobView::aside(const NodeName& node, StdStream stream, std::string_view bytes) {
    if (!screen_ || raw_) {
        return output(node, -1, stream, bytes);
    }
    asides_ += std::ranges::count(bytes, '\n');
    if (files_) {
        files_->output(node, -1, stream, bytes);
    }
}

void JobView::flush() {
    if (screen_) {
        screen_->flush();
    } else {
        json_->flush();
    }
    if (files_) {
        files_->flush();
    }
}

Task<void> JobView::room() {
    return sink_.room();
}

void JobView::finish() {
    finished_ = true;
    if (screen_) {
        screen_->finish();
    } else {
        json_->finish();
    }
    sink_.finish();
    if (asides_ > 0) {
        context_.reporter->on({.kind = Event::Kind::note,
                               .text = fmt::format("{} of the launchers, written while the job was ended, "
                                                   "not shown: `dockdist logs {}` has all",
                                                   counted(asides_, "line"), job_.str())});
    }
    if (files_) {
        files_->flush();
        if (const auto written = files_->written(); !written) {
            const auto& error = written.error();
            context_.reporter->on(
                {.kind = Event::Kind::warning, .subject = error.where, .text = error.message});
        }
    }
}

} // namespace dockdist

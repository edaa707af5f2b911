#include "client/job/used_text.hpp"

#include "client/job/job_cells.hpp"
#include "client/report/csv.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/job_state/job_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace dockdist {
namespace {

constexpr double nearly_all = 0.99; // of the GPU hours: a job's first second is never measured

std::vector<std::string> used_row(const Used& used, std::string name, bool some_run) {
    const auto idle = used.idle();
    const auto waited = used.waited();
    std::vector<std::string> cells{std::move(name),
                                   hours_text(used.gpu_hours),
                                   idle ? decimal(100 * *idle, 0) + " %" : "-",
                                   used.energy_kwh() ? energy_text(used.energy_j) : "-",
                                   waited ? format_duration(std::chrono::milliseconds(*waited)) : "-",
                                   std::to_string(used.jobs)};
    if (some_run) {
        cells.push_back(std::to_string(used.running));
    }
    cells.push_back(std::to_string(used.failed));
    return cells;
}

std::string percent_of(double part, double whole) {
    return decimal(100 * part / whole, 0) + " %";
}

nlohmann::json used_object(const Used& used) {
    const auto idle = used.idle();
    const auto energy = used.energy_kwh();
    const auto waited = used.waited();
    return {{"gpu_hours", used.gpu_hours},
            {"idle_share", idle ? nlohmann::json(*idle) : nlohmann::json()},
            {"idle_of_gpu_hours", used.load_hours},
            {"energy_kwh", energy ? nlohmann::json(*energy) : nlohmann::json()},
            {"energy_of_gpu_hours", used.energy_hours},
            {"waited_ms", waited ? nlohmann::json(*waited) : nlohmann::json()},
            {"waited_of_jobs", used.waits},
            {"jobs", used.jobs},
            {"running", used.running},
            {"failed", used.failed}};
}

std::optional<double> percent(std::optional<double> share) {
    return share ? std::optional(100 * *share) : std::nullopt;
}

std::optional<double> in_seconds(std::optional<std::int64_t> ms) {
    return ms ? std::optional(static_cast<double>(*ms) / 1000) : std::nullopt;
}

std::string utc_time(std::int64_t unix_ms) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       std::chrono::sys_seconds(std::chrono::seconds(unix_ms / 1000)));
}

} // namespace

std::string_view to_string(UsedBy by) {
    return by == UsedBy::user ? "user" : by == UsedBy::job ? "job" : "node";
}

CellTable used_cells(const UsedTable& table) {
    CellTable cells;
    if (table.groups.empty()) {
        return cells;
    }
    const bool some_run = table.total.running > 0;
    const auto* title = table.by == UsedBy::user ? "USER" : table.by == UsedBy::job ? "JOB" : "NODE";
    cells.columns = {{.title = title, .narrow = Narrow::middle, .least = 12},
                     {.title = "GPU HOURS", .align = Align::right},
                     {.title = "IDLE", .align = Align::right},
                     {.title = "ENERGY", .align = Align::right, .give_up = 2},
                     {.title = "WAITED", .align = Align::right, .give_up = 3},
                     {.title = "JOBS", .align = Align::right, .give_up = 4}};
    if (some_run) {
        cells.columns.push_back({.title = "RUNNING", .align = Align::right, .give_up = 1});
    }
    cells.columns.push_back({.title = "FAILED", .align = Align::right, .give_up = 5});
    for (const auto& group : table.groups) {
        cells.rows.push_back(used_row(group, group.name.empty() ? "-" : group.name, some_run));
    }
    cells.rows.push_back(used_row(table.total, "total", some_run));
    return cells;
}

std::vector<std::string> used_notes(const UsedTable& table, const Span& span) {
    const auto& total = table.total;
    std::vector<std::string> notes;
    const bool until_now = span.until_ms == Span{}.until_ms;
    notes.push_back((span.since_ms > 0 ? "from " + local_time(span.since_ms) : "all on record") +
                    (until_now ? "" : " until " + local_time(span.until_ms)) +
                    (until_now && total.running > 0 ? "; jobs that run count until now" : ""));
    if (table.first_ms && *table.first_ms > span.since_ms) {
        notes.push_back("the first job on record began " + local_time(*table.first_ms));
    }
    for (const auto& [what, hours] :
         {std::pair{"idle: known of ", total.load_hours}, {"energy: known of ", total.energy_hours}}) {
        if (hours > 0 && hours < nearly_all * total.gpu_hours) {
            notes.push_back(what + percent_of(hours, total.gpu_hours) + " of the GPU hours");
        }
    }
    if (total.waits > 0 && total.waits < total.jobs) {
        notes.push_back(fmt::format("waited: known of {} of {} jobs", total.waits, total.jobs));
    }
    if (total.open_ends > 0) {
        notes.push_back(fmt::format("nobody saw the end of {}: counted until last measured",
                                    counted(total.open_ends, "job")));
    }
    return notes;
}

std::string used_text(const UsedTable& table, const Span& span, const OutputTraits& output) {
    const auto cells = used_cells(table);
    auto text = table_text(cells, cells.rows.size(), output) + "\n";
    for (const auto& note : used_notes(table, span)) {
        text += laid_out(note + "\n", output);
    }
    return text;
}

nlohmann::json used_json(const UsedTable& table, const Span& span) {
    nlohmann::json json{{"by", to_string(table.by)},
                        {"since_ms", nullptr},
                        {"until_ms", nullptr},
                        {"first_record_ms", nullptr},
                        {"groups", nlohmann::json::array()},
                        {"total", used_object(table.total)}};
    if (span.since_ms > 0) {
        json["since_ms"] = span.since_ms;
    }
    if (span.until_ms != Span{}.until_ms) {
        json["until_ms"] = span.until_ms;
    }
    if (table.first_ms) {
        json["first_record_ms"] = *table.first_ms;
    }
    for (const auto& group : table.groups) {
        auto object = used_object(group);
        object["name"] = group.name.empty() ? nlohmann::json() : nlohmann::json(group.name);
        json["groups"].push_back(std::move(object));
    }
    return json;
}

std::string used_csv(const UsedTable& table) {
    auto text = CsvLine{to_string(table.by), "gpu_hours",      "idle_percent",
                        "idle_of_gpu_hours", "energy_kwh",     "energy_of_gpu_hours",
                        "waited_s",          "waited_of_jobs", "jobs",
                        "running",           "failed"}
                    .str();
    for (const auto& group : table.groups) {
        text += CsvLine()
                    .text(group.name)
                    .number(group.gpu_hours, 4)
                    .number(percent(group.idle()), 1)
                    .number(group.load_hours, 4)
                    .number(group.energy_kwh(), 4)
                    .number(group.energy_hours, 4)
                    .number(in_seconds(group.waited()), 1)
                    .whole(static_cast<std::int64_t>(group.waits))
                    .whole(static_cast<std::int64_t>(group.jobs))
                    .whole(static_cast<std::int64_t>(group.running))
                    .whole(static_cast<std::int64_t>(group.failed))
                    .str();
    }
    return text;
}

std::string jobs_csv(const std::vector<JobReport>& jobs) {
    auto text = CsvLine{"job",          "state",      "stop_reason", "owner",         "nodes",
                        "gpus",         "started",    "duration_s",  "waited_s",      "gpu_hours",
                        "idle_percent", "energy_kwh", "exit_code",   "first_failure", "command"}
                    .str();
    for (const auto& job : jobs) {
        const auto used = used_of(job, {});
        std::vector<std::string> nodes;
        std::ranges::transform(job.nodes, std::back_inserter(nodes), &NodeName::str);
        std::int64_t gpus = 0;
        for (const auto& part : job.times) {
            gpus += part.gpus;
        }
        text += CsvLine()
                    .text(job.job.str())
                    .text(to_string(job.state))
                    .text(job.reason)
                    .text(job.owner)
                    .text(fmt::format("{}", fmt::join(nodes, " ")))
                    .whole(gpus)
                    .text(utc_time(job.started_ms))
                    .number(job.duration_ms > 0 ? in_seconds(job.duration_ms) : std::nullopt, 1)
                    .number(in_seconds(job.waited_ms), 1)
                    .number(used.gpu_hours, 4)
                    .number(percent(used.idle()), 1)
                    .number(used.energy_kwh(), 4)
                    .whole(job.exit_code)
                    .text(job.first_failure ? located_text(*job.first_failure) : "")
                    .text(shell_join(job.command))
                    .str();
    }
    return text;
}

} // namespace dockdist

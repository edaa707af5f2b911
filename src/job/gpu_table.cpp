#include "job/gpu_table.hpp"

#include "core/units.hpp"
#include "gpu/units.hpp"
#include "job/gpu_text.hpp"
#include "report/display_text.hpp"
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t owner_width = 24;
constexpr std::size_t model_width = 36;
constexpr std::size_t name_width = 24; // of jobs and clusters

// A cell that others have written.
std::string cell(const std::string& text, std::size_t width, bool unicode) {
    return text.empty() ? "-" : clipped(safe_cell(text), width, unicode);
}

// "71.2 of 79.6 GiB".
std::string memory_text(const wire::GpuFacts& facts) {
    constexpr double mib_in_gib = 1024;
    const auto in_gib = [](const std::optional<double>& mib) {
        return mib ? fmt::format("{:.1f}", *mib / mib_in_gib) : std::string("?");
    };
    return !facts.memory_used_mib && !facts.memory_total_mib
               ? "-"
               : fmt::format("{} of {} GiB", in_gib(facts.memory_used_mib), in_gib(facts.memory_total_mib));
}

std::string note_of(const wire::GpuFacts& facts, bool unicode) {
    constexpr std::size_t note_width = 100;
    std::string note = facts.problem.empty() ? "" : "not given out: " + facts.problem;
    if (facts.hold && facts.hold->outside) {
        note +=
            (note.empty() ? "" : "; ") +
            ("used outside dockdist" + (facts.hold->by.job.empty() ? "" : " (" + facts.hold->by.job + ")"));
    }
    return clipped(safe_cell(note), note_width, unicode);
}

void add_unit(Table& table, const std::string& host, const wire::GpuFacts& facts, bool unicode) {
    const auto& unit = facts.unit;
    const bool slot = is_slot(unit);
    std::vector<std::string> cells{host,
                                   slot ? fmt::format("slot {}", unit.index) : std::to_string(unit.index)};
    if (facts.hold && !facts.hold->outside) {
        const auto& by = facts.hold->by;
        cells.insert(cells.end(),
                     {by.job.empty() ? "somebody's" : cell(by.job, name_width, unicode),
                      cell(by.owner, owner_width, unicode), format_age(std::chrono::seconds(by.age_s)),
                      cell(by.cluster, name_width, unicode)});
    } else {
        cells.insert(cells.end(), {"-", "-", "-", "-"});
    }
    cells.push_back(facts.utilization_percent ? fmt::format("{:.0f} %", *facts.utilization_percent) : "-");
    cells.push_back(memory_text(facts));
    cells.push_back(cell(unit.name, model_width, unicode));
    cells.push_back(note_of(facts, unicode));
    table.add_row(std::move(cells));
}

} // namespace

std::string gpus_text(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names, bool unicode,
                      std::size_t most_rows) {
    // Who has it comes first: that much a narrow terminal shows.
    Table units({{"HOST", Align::left, Fold::names},
                 {"GPU", Align::right, Fold::any},
                 {"JOB"},
                 {"USER"},
                 {"FOR", Align::right, Fold::any},
                 {"CLUSTER"},
                 {"UTIL", Align::right, Fold::any},
                 {"MEMORY", Align::right, Fold::any},
                 {"MODEL"},
                 {""}});
    Table line({{"HOST", Align::left, Fold::names},
                {"PLACE", Align::right, Fold::any},
                {"WANTS", Align::right},
                {"CLUSTER"},
                {"JOB"},
                {"USER"},
                {"FOR", Align::right, Fold::any},
                {"PRIORITY", Align::right}});
    std::string problems;
    for (const auto& host : hosts) {
        const auto& name = names.at(host.host);
        for (const auto& facts : host.units) {
            if (!is_slot(facts.unit) || facts.hold) {
                add_unit(units, name, facts, unicode);
            }
        }
        int place = 0;
        for (const auto& [who, wanted, priority] : host.line) {
            line.add_row({name, std::to_string(++place), std::to_string(wanted),
                          cell(who.cluster, name_width, unicode), cell(who.job, name_width, unicode),
                          cell(who.owner, owner_width, unicode), format_age(std::chrono::seconds(who.age_s)),
                          std::to_string(priority)});
        }
        for (const auto& problem : host.problems) {
            problems += safe_cell(name + ": " + problem) + "\n";
        }
    }
    std::string text = units.empty() ? "no GPUs, and nobody has a slot\n" : units.to_text(most_rows);
    text += problems.empty() ? "" : "\n" + problems;
    return line.empty() ? text : text + "\nwaiting:\n" + line.to_text(most_rows);
}

} // namespace dockdist

#include "client/job/gpu_table.hpp"

#include "client/job/gpu_text.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t owner_width = 24;
constexpr std::size_t model_width = 36;
constexpr std::size_t name_width = 24; // of jobs and clusters

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

std::string note_of(const wire::GpuFacts& facts) {
    std::string note = facts.problem.empty() ? "" : "not given out: " + facts.problem;
    if (facts.hold && facts.hold->outside) {
        note +=
            (note.empty() ? "" : "; ") +
            ("used outside dockdist" + (facts.hold->by.job.empty() ? "" : " (" + facts.hold->by.job + ")"));
    }
    return note;
}

void add_unit(CellTable& table, const std::string& host, const wire::GpuFacts& facts) {
    const auto& unit = facts.unit;
    const bool slot = is_slot(unit);
    std::vector<std::string> cells{host,
                                   slot ? fmt::format("slot {}", unit.index) : std::to_string(unit.index)};
    if (facts.hold && !facts.hold->outside) {
        const auto& by = facts.hold->by;
        const bool kept = by.job.empty() && !by.node.empty();
        cells.insert(cells.end(), {kept             ? "kept for " + by.node
                                   : by.job.empty() ? "somebody's"
                                                    : by.job,
                                   or_dash(by.owner), kept ? "-" : format_age(std::chrono::seconds(by.age_s)),
                                   or_dash(by.cluster)});
    } else {
        cells.insert(cells.end(), {"-", "-", "-", "-"});
    }
    cells.push_back(facts.utilization_percent ? fmt::format("{:.0f} %", *facts.utilization_percent) : "-");
    cells.push_back(memory_text(facts));
    cells.push_back(or_dash(unit.name));
    cells.push_back(note_of(facts));
    table.rows.push_back(std::move(cells));
}

} // namespace

GpuTables gpu_tables(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names) {
    // Who has it comes first: that much a narrow terminal shows.
    const Column host_column{.title = "HOST", .fold = Fold::names, .narrow = Narrow::middle};
    const Column job{.title = "JOB", .narrow = Narrow::middle, .least = 10, .most = name_width};
    const Column user{.title = "USER", .narrow = Narrow::end, .give_up = 4, .most = owner_width};
    const Column since{.title = "FOR", .align = Align::right, .fold = Fold::any, .give_up = 5};
    const Column cluster{.title = "CLUSTER", .narrow = Narrow::end, .give_up = 3, .most = name_width};
    const auto figure = [](const char* title, int give_up) {
        return Column{.title = title, .align = Align::right, .fold = Fold::any, .give_up = give_up};
    };
    GpuTables tables;
    tables.units.columns = {
        host_column,
        figure("GPU", 0),
        job,
        user,
        since,
        cluster,
        figure("UTIL", 6),
        figure("MEMORY", 7),
        {.title = "MODEL", .narrow = Narrow::end, .give_up = 1, .least = 12, .most = model_width},
        {.narrow = Narrow::wrap, .give_up = 2, .least = 20}};
    tables.line.columns = {host_column,
                           figure("PLACE", 0),
                           {.title = "WANTS", .align = Align::right},
                           cluster,
                           job,
                           user,
                           since,
                           {.title = "PRIORITY", .align = Align::right, .give_up = 1}};
    for (const auto& host : hosts) {
        const auto& name = names.at(host.host);
        for (const auto& facts : host.units) {
            if (!is_slot(facts.unit) || facts.hold) {
                add_unit(tables.units, name, facts);
            }
        }
        int place = 0;
        for (const auto& [who, wanted, priority] : host.line) {
            tables.line.rows.push_back({name, std::to_string(++place), std::to_string(wanted),
                                        or_dash(who.cluster), or_dash(who.job), or_dash(who.owner),
                                        format_age(std::chrono::seconds(who.age_s)),
                                        std::to_string(priority)});
        }
        for (const auto& problem : host.problems) {
            tables.problems.push_back(name + ": " + problem);
        }
    }
    return tables;
}

std::string gpus_text(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names,
                      const OutputTraits& output, std::size_t most_rows) {
    const auto [units, line, problems] = gpu_tables(hosts, names);
    std::string text = units.empty() ? "" : table_text(units, most_rows, output);
    if (units.empty() && problems.empty()) { // else it is not known whether there are any
        text = "no GPUs, and nobody has a slot\n";
    }
    std::string below;
    for (const auto& problem : problems) {
        below += safe_cell(problem) + "\n";
    }
    text += below.empty() ? "" : (text.empty() ? "" : "\n") + laid_out(below, output);
    return line.empty() ? text : text + "\nwaiting:\n" + table_text(line, most_rows, output);
}

} // namespace dockdist

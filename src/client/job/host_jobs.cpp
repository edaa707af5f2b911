#include "client/job/host_jobs.hpp"

#include "client/job/gpu_text.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace dockdist {
namespace {

// "0-3", "2 slots".
std::string held_text(const std::vector<wire::GpuUnit>& units) {
    if (std::ranges::all_of(units, is_slot)) {
        return counted(units.size(), "slot");
    }
    std::vector<int> indices;
    std::ranges::transform(units, std::back_inserter(indices), &wire::GpuUnit::index);
    return ranges_text(std::move(indices));
}

} // namespace

std::vector<HostJob> jobs_on_host(const HostGpus& host) {
    std::vector<HostJob> jobs;
    const auto name = [](const HostJob& job) { return std::tie(job.who.cluster, job.who.node, job.who.job); };
    for (const auto& unit : host.units) {
        if (!unit.hold || unit.hold->outside || unit.hold->by.job.empty()) {
            continue;
        }
        const auto& by = unit.hold->by;
        const auto known = std::ranges::find(jobs, std::tie(by.cluster, by.node, by.job), name);
        auto& job = known == jobs.end() ? jobs.emplace_back(HostJob{.who = by}) : *known;
        job.units.push_back(unit.unit);
    }
    int place = 0;
    for (const auto& waiter : host.line) {
        jobs.push_back(
            {.who = waiter.who, .wanted = waiter.wanted, .priority = waiter.priority, .place = ++place});
    }
    return jobs;
}

std::string host_jobs_text(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names,
                           const OutputTraits& output, std::size_t most_rows) {
    constexpr std::size_t widest_name = 24;
    Table table({{.title = "HOST", .fold = Fold::names, .narrow = Narrow::middle},
                 {.title = "JOB", .narrow = Narrow::middle, .least = 10, .most = widest_name},
                 {.title = "USER", .narrow = Narrow::end, .give_up = 3, .most = widest_name},
                 {.title = "CLUSTER", .narrow = Narrow::end, .give_up = 2, .most = widest_name},
                 {.title = "GPUS", .align = Align::right},
                 {.title = "FOR", .align = Align::right, .fold = Fold::any, .give_up = 4},
                 {.narrow = Narrow::wrap, .give_up = 1}});
    std::string problems;
    for (const auto& host : hosts) {
        for (const auto& [who, units, wanted, priority, place] : jobs_on_host(host)) {
            table.add_row({names.at(host.host), who.job, or_dash(who.owner), or_dash(who.cluster),
                           units.empty() ? "-" : held_text(units),
                           format_age(std::chrono::seconds(who.age_s)),
                           units.empty() ? fmt::format("waits for {}, place {}", wanted, place) : ""});
        }
        for (const auto& problem : host.problems) {
            problems += safe_cell(names.at(host.host) + ": " + problem) + "\n";
        }
    }
    if (table.empty()) {
        return problems.empty() ? "no job of any cluster has GPUs or slots there\n"
                                : laid_out(problems, output);
    }
    return table.to_text(most_rows, output) + (problems.empty() ? "" : "\n" + laid_out(problems, output));
}

} // namespace dockdist

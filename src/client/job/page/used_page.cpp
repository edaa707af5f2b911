#include "client/job/page/used_page.hpp"

#include "client/job/job_cells.hpp"
#include "client/job/used_text.hpp"
#include "client/report/page/page.hpp"
#include "client/report/page/time_chart.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <ranges>

namespace dockdist {
namespace {

constexpr std::size_t chart_steps = 240;
constexpr std::size_t most_users_by_name = 8;

std::string held_chart(const std::vector<JobReport>& jobs, const Span& span) {
    const auto held = held_over_time(jobs, span, chart_steps, most_users_by_name);
    TimeChart chart{.title = "GPUs held, from " + local_time(held.begin_ms),
                    .unit = "GPUs",
                    .end_ms = held.step_ms * static_cast<std::int64_t>(chart_steps)};
    for (const auto& curve : held.curves) {
        auto& drawn = chart.curves.emplace_back(TimeCurve{.name = curve.user, .step_ms = held.step_ms});
        for (const auto gpus : curve.gpus) {
            drawn.points.emplace_back(TimeCurve::Point{.least = gpus, .mean = gpus, .most = gpus});
        }
    }
    const auto figure = page_time_chart(chart);
    return figure.empty() ? "" : "<div class=\"charts\">\n" + figure + "</div>\n";
}

std::string used_verdict(const Used& total) {
    const auto idle = total.idle();
    return fmt::format("{} GPU hours{} in {}{}", hours_text(total.gpu_hours),
                       idle ? ", " + decimal(100 * *idle, 0) + " % of them idle," : "",
                       counted(total.jobs, "job"),
                       total.failed > 0 ? fmt::format(", {} failed", total.failed) : "");
}

} // namespace

std::string used_page(const std::vector<JobReport>& jobs, const Span& span, const JobPageFacts& facts) {
    const auto users = used_by(UsedBy::user, jobs, span);
    std::vector<JobReport> shown;
    for (const auto& job : jobs | std::views::reverse) {
        if (is_within(job, span)) {
            shown.push_back(job);
        }
    }
    std::string notes;
    for (const auto& note : used_notes(users, span)) {
        notes += "<p class=\"soft\">" + html(note) + "</p>\n";
    }
    return whole_page({.title = "Who used " + facts.cluster,
                       .verdict = used_verdict(users.total),
                       .under = fmt::format("written {} · dockdist {}", facts.time, facts.version)},
                      notes + page_section("By user", page_table(used_cells(users))) +
                          page_section("Over time", held_chart(jobs, span)) +
                          page_section("By node", page_table(used_cells(used_by(UsedBy::node, jobs, span)))) +
                          page_section("By job", page_table(used_cells(used_by(UsedBy::job, jobs, span)))) +
                          page_section("Jobs", page_table(jobs_table(shown))));
}

} // namespace dockdist

#include "client/job/page/job_page.hpp"

#include "client/job/job_details.hpp"
#include "client/report/page/page.hpp"
#include "client/report/page/time_chart.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/usage/curves.hpp"
#include "shared/usage/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace dockdist {
namespace {

using wire::Figure;

constexpr std::size_t most_curves_by_name = 8; // nodes in one chart; more become a range
constexpr std::size_t most_open_nodes = 4;     // whose charts are unfolded

struct ChartKind {
    Figure figure;
    TimeChart::Scale scale;
    const char* unit;
};
constexpr std::array<ChartKind, 7> chart_kinds{{
    {Figure::gpu_utilization, TimeChart::Scale::percent, ""},
    {Figure::gpu_power, TimeChart::Scale::plain, "W"},
    {Figure::gpu_memory, TimeChart::Scale::bytes, ""},
    {Figure::gpu_temperature, TimeChart::Scale::plain, "°C"},
    {Figure::gpu_clock, TimeChart::Scale::plain, "MHz"},
    {Figure::cpu, TimeChart::Scale::plain, "cores"},
    {Figure::memory, TimeChart::Scale::bytes, ""},
}};
struct TrafficKind {
    const char* title;
    Figure received, sent;
    const char *in, *out;
};
constexpr std::array<TrafficKind, 3> traffic_kinds{{
    {"network", Figure::network_received, Figure::network_sent, "in", "out"},
    {"RDMA", Figure::rdma_received, Figure::rdma_sent, "in", "out"},
    {"disk", Figure::disk_read, Figure::disk_written, "read", "written"},
}};

TimeCurve drawn(std::string name, const CombinedCurve& curve) {
    TimeCurve result{.name = std::move(name), .step_ms = curve.step_ms};
    for (const auto& point : curve.points) {
        auto& made = result.points.emplace_back();
        if (point) {
            made = TimeCurve::Point{.least = point->least, .mean = point->mean, .most = point->most};
        }
    }
    return result;
}

std::int64_t end_of(const std::vector<NodeHistory>& histories) {
    std::int64_t end_ms = 0;
    for (const auto& [node, history] : histories) {
        for (const auto& curve : history.curves) {
            end_ms = std::max(end_ms, static_cast<std::int64_t>(curve.points.size()) * history.step_ms);
        }
    }
    return end_ms;
}

bool anything_went(const wire::JobHistory& history, const TrafficKind& kind) {
    for (const auto figure : {kind.received, kind.sent}) {
        for (const auto& [curve, step_ms] : curves_of(history, figure)) {
            if (std::ranges::any_of(curve->points,
                                    [](const auto& point) { return point && point->most > 0; })) {
                return true;
            }
        }
    }
    return false;
}

std::string charts(const std::string& figures) {
    return figures.empty() ? "" : "<div class=\"charts\">\n" + figures + "</div>\n";
}

// A curve a GPU.
std::string node_charts(const wire::JobHistory& history, std::int64_t end_ms) {
    std::string text;
    for (const auto& kind : chart_kinds) {
        TimeChart chart{
            .title = figure_title(kind.figure), .unit = kind.unit, .scale = kind.scale, .end_ms = end_ms};
        for (const auto& placed : curves_of(history, kind.figure)) {
            chart.curves.push_back(drawn(fmt::format("GPU {}", placed.curve->gpu), combined({placed})));
        }
        text += page_time_chart(chart);
    }
    for (const auto& kind : traffic_kinds) {
        if (!anything_went(history, kind)) {
            continue;
        }
        TimeChart chart{.title = kind.title, .scale = TimeChart::Scale::bytes_per_second, .end_ms = end_ms};
        chart.curves.push_back(drawn(kind.in, combined(curves_of(history, kind.received))));
        chart.curves.push_back(drawn(kind.out, combined(curves_of(history, kind.sent))));
        text += page_time_chart(chart);
    }
    return charts(text);
}

// A curve a node, of many nodes their range.
std::string all_charts(const std::vector<NodeHistory>& histories, std::int64_t end_ms) {
    std::string text;
    const auto add = [&](Figure figure, const std::string& title, TimeChart::Scale scale, const char* unit) {
        TimeChart chart{.title = title, .unit = unit, .scale = scale, .end_ms = end_ms};
        std::vector<PlacedCurve> all;
        for (const auto& [node, history] : histories) {
            const auto curves = curves_of(history, figure);
            if (histories.size() > most_curves_by_name) {
                all.insert(all.end(), curves.begin(), curves.end());
            } else if (!curves.empty()) {
                chart.curves.push_back(drawn(node.str(), combined(curves)));
            }
        }
        if (!all.empty()) {
            chart.curves.push_back(drawn("", combined(all)));
        }
        text += page_time_chart(chart);
    };
    for (const auto& kind : chart_kinds) {
        add(kind.figure, figure_title(kind.figure), kind.scale, kind.unit);
    }
    for (const auto& kind : traffic_kinds) {
        const bool went = std::ranges::any_of(
            histories, [&](const NodeHistory& node) { return anything_went(node.history, kind); });
        if (went) {
            add(kind.received, figure_title(kind.received), TimeChart::Scale::bytes_per_second, "");
        }
    }
    return charts(text);
}

std::string over_the_time(const std::vector<NodeHistory>& histories) {
    const auto end_ms = end_of(histories);
    if (histories.size() == 1) {
        return page_section("Over time", node_charts(histories.front().history, end_ms));
    }
    std::string nodes;
    for (const auto& [node, history] : histories) {
        if (const auto own = node_charts(history, end_ms); !own.empty()) {
            nodes += fmt::format("<details{}><summary>{}</summary>\n{}</details>\n",
                                 histories.size() <= most_open_nodes ? " open" : "", html(node.str()), own);
        }
    }
    const auto* title = histories.size() > most_curves_by_name
                            ? "Over time, all nodes: the mean, between the lowest and the highest"
                            : "Over time";
    return page_section(title, all_charts(histories, end_ms)) + page_section("Each node", nodes);
}

std::string facts_table(const JobReport& job) {
    std::string rows;
    for (const auto& [title, fact] : job_facts(job)) {
        rows += fmt::format("<tr><th>{}</th><td class=\"found\">{}</td></tr>\n", html(title), html(fact));
    }
    return "<table class=\"facts\"><tbody>\n" + rows + "</tbody></table>\n";
}

std::string quoted(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) {
        text += line.empty() ? "" : html(line) + "\n";
    }
    return text.empty() ? "" : "<pre>" + text + "</pre>\n";
}

std::string stands_out(const JobReport& job, const std::vector<NodeHistory>& histories) {
    std::string text;
    if (job.first_failure) {
        const auto& first = *job.first_failure;
        text += fmt::format("<p class=\"fail\">{}</p>\n", html(located_text(first)));
        if (!first.advice.empty()) {
            text += fmt::format("<p class=\"hint\">→ {}</p>\n", html(first.advice));
        }
        text += quoted(split(first.tail, '\n'));
    }
    std::string items;
    for (const auto& finding : findings(job.usage, histories)) {
        items += "<li>" + html(finding) + "</li>\n";
    }
    return text + (items.empty() ? "" : "<ul>\n" + items + "</ul>\n");
}

std::string verdict_text(const JobReport& job, const UsageSum& usage) {
    const auto time = format_duration(std::chrono::milliseconds(job.duration_ms));
    auto text = std::string(to_string(job.state)) + (job.duration_ms == 0             ? ""
                                                     : job.state == JobState::running ? " for " + time
                                                                                      : " after " + time);
    if (usage.gpus > 0) {
        text += ", " + hours_text(usage.gpu_hours) + " GPU hours";
    }
    return text;
}

} // namespace

std::string job_page(const JobReport& job, const std::vector<NodeHistory>& histories,
                     const JobPageFacts& facts) {
    const auto usage = sum_usage(job.usage);
    const auto* state = job.state == JobState::done      ? "pass"
                        : job.state == JobState::running ? ""
                        : job.state == JobState::stopped ? "warn"
                                                         : "fail";
    const PageHead head{.title = job.job.str(),
                        .verdict = verdict_text(job, usage),
                        .state = state,
                        .under = fmt::format("cluster {} · written {} · dockdist {}", facts.cluster,
                                             facts.time, facts.version),
                        .way_back = facts.way_back,
                        .refresh_s = job.state == JobState::running ? facts.refresh_s : 0};
    return whole_page(head, page_section("What stands out", stands_out(job, histories)) +
                                page_section("The job", facts_table(job)) +
                                page_section("Its last lines", quoted(facts.output)) +
                                page_section("What it used", page_table(usage_table(usage)) +
                                                                 page_table(node_usage_table(job.usage))) +
                                over_the_time(histories));
}

} // namespace dockdist

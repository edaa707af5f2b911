#include "client/job/used.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace dockdist {
namespace {

using wire::Figure;

constexpr double ms_of_an_hour = 3'600'000;

std::int64_t inside(const PartTime& part, const Span& span) {
    return std::max<std::int64_t>(
        std::min(part.end_ms, span.until_ms) - std::max(part.begin_ms, span.since_ms), 0);
}

bool part_is_within(const PartTime& part, const Span& span) {
    return part.end_ms >= span.since_ms && part.begin_ms < span.until_ms;
}

// A node's word: never more GPU time than there was.
double measured_hours(const wire::FigureUse& use, const PartTime& part) {
    const auto whole = part.gpus * static_cast<double>(part.end_ms - part.begin_ms) / ms_of_an_hour;
    return std::clamp(use.seconds / 3600, 0.0, whole);
}

void add_part(Used& group, const JobReport& job, const PartTime& part, const Span& span) {
    const auto time = static_cast<double>(inside(part, span));
    if (part.gpus == 0 || time <= 0) {
        return;
    }
    group.gpu_hours += part.gpus * time / ms_of_an_hour;
    if (!part.usage) {
        return;
    }
    const auto& usage = job.usage[*part.usage];
    const auto share = time / static_cast<double>(part.end_ms - part.begin_ms);
    for (const auto& use : usage.usage.figures) {
        const auto hours = share * measured_hours(use, part);
        if (use.figure == Figure::gpu_utilization && !usage.spare) {
            group.load_hours += hours;
            group.idle_hours += hours * (1 - std::clamp(use.mean, 0.0, 100.0) / 100);
        } else if (use.figure == Figure::gpu_power) {
            group.energy_hours += hours;
            group.energy_j += hours * 3600 * std::max(use.mean, 0.0);
        }
    }
}

// What is counted once of a job in a group.
void count_job(Used& group, const JobReport& job, const Span& span, const PartTime& whole, bool failed_here) {
    const bool bad = job.state == JobState::failed || job.state == JobState::lost;
    ++group.jobs;
    group.running += job.state == JobState::running ? 1 : 0;
    group.failed += bad && failed_here && whole.end_ms <= span.until_ms ? 1 : 0;
    group.open_ends += whole.open_end ? 1 : 0;
    if (job.waited_ms && whole.begin_ms >= span.since_ms) {
        ++group.waits;
        group.waited_ms += *job.waited_ms;
    }
}

void add_job(Used& group, const JobReport& job, const Span& span, const PartTime& whole) {
    count_job(group, job, span, whole, true);
    for (const auto& part : job.times) {
        add_part(group, job, part, span);
    }
}

PartTime whole_time(const JobReport& job) {
    PartTime whole{.begin_ms = std::numeric_limits<std::int64_t>::max()};
    for (const auto& part : job.times) {
        whole.begin_ms = std::min(whole.begin_ms, part.begin_ms);
        whole.end_ms = std::max(whole.end_ms, part.end_ms);
        whole.open_end = whole.open_end || part.open_end;
    }
    return whole;
}

std::string group_of(UsedBy by, const JobReport& job) {
    return by == UsedBy::user ? job.owner : named_run(job.job).name;
}

} // namespace

std::optional<double> Used::idle() const {
    return load_hours > 0 ? std::optional(idle_hours / load_hours) : std::nullopt;
}

std::optional<double> Used::energy_kwh() const {
    constexpr double joule = 3'600'000;
    return energy_hours > 0 ? std::optional(energy_j / joule) : std::nullopt;
}

std::optional<std::int64_t> Used::waited() const {
    return waits > 0 ? std::optional(waited_ms) : std::nullopt;
}

bool is_within(const JobReport& job, const Span& span) {
    return std::ranges::any_of(job.times, [&](const PartTime& part) { return part_is_within(part, span); });
}

Used used_of(const JobReport& job, const Span& span) {
    Used used;
    add_job(used, job, span, whole_time(job));
    return used;
}

UsedTable used_by(UsedBy by, const std::vector<JobReport>& jobs, const Span& span) {
    UsedTable table{.by = by};
    std::map<std::string, Used> groups;
    for (const auto& job : jobs) {
        if (job.times.empty()) {
            continue;
        }
        const auto whole = whole_time(job);
        table.first_ms = std::min(table.first_ms.value_or(whole.begin_ms), whole.begin_ms);
        if (!is_within(job, span)) {
            continue;
        }
        add_job(table.total, job, span, whole);
        if (by != UsedBy::node) {
            add_job(groups[group_of(by, job)], job, span, whole);
            continue;
        }
        for (const auto& part : job.times) {
            if (part_is_within(part, span)) {
                auto& group = groups[part.node.str()];
                count_job(group, job, span, whole,
                          !job.first_failure || job.first_failure->node == part.node.str());
                add_part(group, job, part, span);
            }
        }
    }
    for (auto& [name, used] : groups) {
        table.groups.push_back(std::move(used));
        table.groups.back().name = name;
    }
    std::ranges::sort(table.groups, [](const Used& a, const Used& b) {
        return std::tie(b.gpu_hours, b.jobs, a.name) < std::tie(a.gpu_hours, a.jobs, b.name);
    });
    return table;
}

HeldOverTime held_over_time(const std::vector<JobReport>& jobs, const Span& span, std::size_t steps,
                            std::size_t most_users) {
    Span drawn{.since_ms = std::numeric_limits<std::int64_t>::max(), .until_ms = 0};
    for (const auto& job : jobs) {
        for (const auto& part : job.times) {
            if (part.gpus > 0 && inside(part, span) > 0) {
                drawn.since_ms = std::min(drawn.since_ms, std::max(part.begin_ms, span.since_ms));
                drawn.until_ms = std::max(drawn.until_ms, std::min(part.end_ms, span.until_ms));
            }
        }
    }
    if (drawn.until_ms <= drawn.since_ms) {
        return {};
    }
    const auto count = static_cast<std::int64_t>(steps);
    HeldOverTime held{.begin_ms = drawn.since_ms,
                      .step_ms = (drawn.until_ms - drawn.since_ms + count - 1) / count};
    const auto users = used_by(UsedBy::user, jobs, span).groups;
    std::map<std::string, std::size_t> places;
    for (const auto& user : users) {
        if (user.gpu_hours > 0 && users.size() <= most_users) {
            places[user.name] = held.curves.size();
            held.curves.push_back({.user = user.name.empty() ? "-" : user.name});
        }
    }
    if (held.curves.empty()) {
        held.curves.emplace_back();
    }
    for (auto& curve : held.curves) {
        curve.gpus.resize(steps);
    }
    for (const auto& job : jobs) {
        const auto place = places.find(job.owner);
        auto& curve = held.curves[place == places.end() ? 0 : place->second];
        for (const auto& part : job.times) {
            if (part.gpus == 0 || inside(part, drawn) <= 0) {
                continue;
            }
            auto step = (std::max(part.begin_ms, drawn.since_ms) - held.begin_ms) / held.step_ms;
            for (; step < count; ++step) {
                const auto from = held.begin_ms + step * held.step_ms;
                const auto there = inside(part, {.since_ms = from, .until_ms = from + held.step_ms});
                if (there == 0) {
                    break;
                }
                curve.gpus[static_cast<std::size_t>(step)] +=
                    part.gpus * static_cast<double>(there) / static_cast<double>(held.step_ms);
            }
        }
    }
    return held;
}

} // namespace dockdist

#include "shared/core/host_list.hpp"
#include "shared/core/units.hpp"
#include "shared/load/findings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <span>

namespace dockdist {
namespace {

using Group = std::span<const Finding>;

std::string nodes_of(Group group) {
    std::vector<std::string> names;
    for (const auto& finding : group) {
        if (std::ranges::find(names, finding.node) == names.end()) {
            names.push_back(finding.node);
        }
    }
    return list_names(names);
}

// "node-1 GPU 3", "12 GPUs of node-[0-3]".
std::string where(Group group) {
    if (group.size() > 1) {
        return fmt::format("{} GPUs of {}", group.size(), nodes_of(group));
    }
    return fmt::format("{} GPU {}", group.front().node, group.front().gpu);
}

std::string rank_of(const Finding& finding) {
    return fmt::format("{} rank {}{}", finding.node, finding.rank,
                       finding.job.empty() ? "" : " of " + finding.job);
}

std::string for_text(const Finding& finding) {
    return finding.for_ms < 1000 ? "" : " for " + format_age(std::chrono::seconds(finding.for_ms / 1000));
}

std::string and_more(Group group) {
    return group.size() > 1 ? fmt::format(" ({} GPU {})", group.front().node, group.front().gpu) : "";
}

// A sentence tells of its first one's figures.
bool share_a_sentence(const Finding& first, const Finding& other) {
    const bool same_words = first.gpu < 0 && other.gpu < 0 && first.about == other.about;
    return first.kind == other.kind &&
           (first.kind == Finding::Kind::low_power || first.kind == Finding::Kind::thermal ||
            first.kind == Finding::Kind::hw_slowdown || first.kind == Finding::Kind::idle ||
            (first.kind == Finding::Kind::no_figures && same_words));
}

} // namespace

std::vector<std::string> findings_text(const std::vector<Finding>& findings) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < findings.size();) {
        const auto& first = findings[begin];
        std::size_t end = begin + 1;
        while (end < findings.size() && share_a_sentence(first, findings[end])) {
            ++end;
        }
        const Group group(findings.data() + begin, end - begin);
        begin = end;
        switch (first.kind) {
        case Finding::Kind::idle:
            lines.push_back(
                fmt::format("the job's GPUs on {} did nothing{}", nodes_of(group), for_text(first)));
            break;
        case Finding::Kind::low_power:
            lines.push_back(fmt::format(
                "{}: 100 % busy at {}{}{}: it waits for others, as in a collective that goes over sockets; "
                "`dockdist check --deep` says which way it goes",
                where(group), first.about, for_text(first), and_more(group)));
            break;
        case Finding::Kind::thermal:
            lines.push_back(fmt::format("{}: slowed down because too hot{}{}{}", where(group),
                                        for_text(first), first.about.empty() ? "" : ", at " + first.about,
                                        and_more(group)));
            break;
        case Finding::Kind::hw_slowdown:
            lines.push_back(fmt::format(
                "{}: slowed down by the hardware (a power brake, or the power supply){}{}{}", where(group),
                for_text(first), first.about.empty() ? "" : ", at " + first.about, and_more(group)));
            break;
        case Finding::Kind::slow_rank:
            lines.push_back(fmt::format("{}: slower than the rest: {}", rank_of(first), first.about));
            break;
        case Finding::Kind::memory_grows:
            lines.push_back(fmt::format("{}: its memory grows: {}", rank_of(first), first.about));
            break;
        case Finding::Kind::disk_full:
            lines.push_back(fmt::format("{}: {} has {}", first.node, first.disk, first.about));
            break;
        case Finding::Kind::no_figures:
            lines.push_back(fmt::format("{}: no figures{}: {}",
                                        first.gpu < 0 ? "GPUs of " + nodes_of(group) : where(group),
                                        for_text(first), first.about));
            break;
        }
    }
    return lines;
}

nlohmann::json finding_json(const Finding& finding) {
    const auto name = [](const std::string& text) {
        return text.empty() ? nlohmann::json() : nlohmann::json(text);
    };
    const auto number = [](int value) { return value < 0 ? nlohmann::json() : nlohmann::json(value); };
    return {{"kind", wire::name_of(finding.kind)},
            {"node", finding.node},
            {"gpu", number(finding.gpu)},
            {"job", name(finding.job)},
            {"rank", number(finding.rank)},
            {"disk", name(finding.disk)},
            {"text", findings_text({finding}).front()}};
}

} // namespace dockdist

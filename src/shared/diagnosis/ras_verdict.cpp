#include "shared/core/units.hpp"
#include "shared/diagnosis/ras.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using Finding = wire::RasRank;

// The job's number of it; −1: not known.
int rank_of(const Finding& found, const std::vector<RasPlace>& places, int world) {
    const auto place = std::ranges::find_if(
        places, [&](const RasPlace& one) { return one.pid == found.pid && one.host == found.host; });
    return place != places.end() ? place->rank : found.size == world && world > 0 ? found.rank : -1;
}

std::string name_of(const Finding& found, int rank) {
    return rank >= 0 ? "rank " + std::to_string(rank)
                     : "process " + std::to_string(found.pid) + " on " + found.host;
}

std::string words_of(const Finding& found) {
    switch (found.kind) {
    case Finding::Kind::behind:
        return "has launched " + std::to_string(found.count) + " " +
               (found.operation.empty() ? "collectives" : found.operation) + " of " +
               std::to_string(found.most);
    case Finding::Kind::gone:
        return "answers, and no longer has a communicator that its peers have";
    case Finding::Kind::unresponsive:
        return "does not answer";
    case Finding::Kind::dead:
        return "has not answered for a minute";
    case Finding::Kind::failed:
        return "has the error \"" + found.operation + "\"";
    case Finding::Kind::ahead:
        return "has launched " + std::to_string(found.count) + " " +
               (found.operation.empty() ? "collectives" : found.operation) + ", most others " +
               std::to_string(found.most) + ": that names nobody";
    }
    return "";
}

std::string problems_of(const std::vector<wire::RasReport>& reports) {
    for (const auto& report : reports) {
        if (!report.problem.empty()) {
            return report.problem;
        }
    }
    return "";
}

// NCCL's word for an error that comes of another process's end.
bool is_consequence(const Finding& found) {
    constexpr std::string_view error = "emote process error"; // with either letter at its head
    return found.kind == Finding::Kind::failed && found.operation.ends_with(error);
}

// What nodes have heard, each of a rank once; what says most first.
std::vector<Finding> all_of(const std::vector<wire::RasReport>& reports,
                            const std::vector<RasPlace>& places) {
    const auto has_stayed = [&](const Finding& found) {
        return found.kind == Finding::Kind::gone && std::ranges::any_of(places, [&](const RasPlace& one) {
                   return one.waits && one.pid == found.pid && one.host == found.host;
               });
    };
    std::vector<Finding> all;
    std::set<std::tuple<std::string, int, Finding::Kind, std::string>> seen;
    for (const auto& report : reports) {
        for (const auto& found : report.ranks) {
            if (!is_consequence(found) && !has_stayed(found) &&
                seen.insert({found.communicator, found.rank, found.kind, found.operation}).second) {
                all.push_back(found);
            }
        }
    }
    std::ranges::sort(all, {}, ras_order);
    return all;
}

} // namespace

Evidence judge_ras(const std::vector<wire::RasReport>& reports, const std::vector<RasPlace>& places,
                   int world) {
    const auto all = all_of(reports, places);
    if (all.empty()) {
        const auto problem = problems_of(reports);
        const bool moves = std::ranges::any_of(reports, &wire::RasReport::moves);
        const bool answers =
            std::ranges::any_of(reports, [](const auto& report) { return !report.version.empty(); });
        return {.text = answers           ? (moves ? "counts differ, and grow: slow, not hung"
                                                   : "all ranks have launched the same")
                        : problem.empty() ? ""
                                          : "no evidence: " + problem};
    }
    const auto& first = all.front();
    std::set<int> ranks;
    std::set<std::string> names;
    for (const auto& found : all) {
        if (found.kind == first.kind) {
            const int rank = rank_of(found, places, world);
            names.insert(name_of(found, rank));
            if (rank >= 0 && found.kind != Finding::Kind::ahead) {
                ranks.insert(rank);
            }
        }
    }
    auto asked = std::chrono::milliseconds(0);
    for (const auto& report : reports) {
        asked = std::max(asked, std::chrono::milliseconds(report.asked_ms));
    }
    std::string text = name_of(first, rank_of(first, places, world)) + " " + words_of(first);
    if (names.size() > 1) {
        text += ", and " + std::to_string(names.size() - 1) + (names.size() == 2 ? " more is" : " more are") +
                " like it";
    }
    if (first.kind == Finding::Kind::behind || first.kind == Finding::Kind::ahead) {
        text += "; no count moved in " + format_duration(asked);
    }
    // In a circle each of them waits for another one. Who is ahead may have one too many, or the others one
    // too few.
    const auto kind = first.kind == Finding::Kind::ahead ? HangVerdict::Kind::none
                      : first.waits                      ? HangVerdict::Kind::mismatch
                                                         : HangVerdict::Kind::behind;
    return {.kind = kind,
            .ranks = {ranks.begin(), ranks.end()},
            .text = std::move(text),
            .hint = first.kind == Finding::Kind::dead || first.kind == Finding::Kind::unresponsive
                        ? "its process is stopped or gone, or the network to it is cut"
                        : ""};
}

} // namespace dockdist

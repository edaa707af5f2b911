#include "shared/diagnosis/source_verdict.hpp"

#include "shared/core/counted.hpp"
#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/ras.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_ways = 4;

bool is_idle(const LocatedStack& rank) {
    return judged(rank).waits || !works(*rank.stack);
}

std::vector<std::size_t> ranks_on(const std::string& node, const HangEvidence& evidence) {
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < evidence.ranks.size(); ++i) {
        if (evidence.ranks[i].node == node) {
            ranks.push_back(i);
        }
    }
    return ranks;
}

// Of whom a source names. Who works comes late, and is no cause of a hang.
HangVerdict about(Evidence found, const std::vector<LocatedStack>& ranks) {
    HangVerdict verdict{.kind = found.ranks.empty() ? HangVerdict::Kind::none : found.kind,
                        .cause = HangCause::other_collective,
                        .sure = true,
                        .text = std::move(found.text),
                        .hint = std::move(found.hint)};
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (std::ranges::find(found.ranks, ranks[i].stack->rank) == found.ranks.end()) {
            continue;
        }
        const auto one = judged(ranks[i]);
        if (verdict.kind == HangVerdict::Kind::behind && verdict.ranks.empty()) {
            verdict.cause = one.waits ? HangCause::peers : cause_of(one, false);
        }
        verdict.sure = verdict.sure && is_idle(ranks[i]);
        verdict.where =
            verdict.ranks.empty() && one.frame != nullptr ? frame_words(*one.frame) : verdict.where;
        verdict.ranks.push_back(i);
    }
    return verdict;
}

} // namespace

HangVerdict of_flights(const std::vector<LocatedStack>& ranks) {
    std::vector<RankFlight> flights;
    for (const auto& one : ranks) {
        if (one.stack->rank >= 0) {
            flights.push_back({.rank = one.stack->rank, .record = &one.stack->flight});
        }
    }
    return about(judge_flight(flights), ranks);
}

HangVerdict of_ras(const HangEvidence& evidence) {
    auto reports = evidence.ras;
    std::int64_t stands_ms = 0;
    for (auto& report : reports) {
        stands_ms = std::max(stands_ms, report.asked_ms);
        for (auto& rank : report.ranks) {
            const auto node = evidence.nodes.find(rank.host);
            rank.host = node == evidence.nodes.end() ? rank.host : node->second;
        }
    }
    std::vector<RasPlace> places;
    for (const auto& one : evidence.ranks) {
        if (one.stack->rank >= 0) {
            places.push_back({.rank = one.stack->rank,
                              .host = one.node,
                              .pid = one.stack->pid,
                              .waits = judged(one).waits});
        }
    }
    auto verdict = about(judge_ras(reports, places, static_cast<int>(places.size())), evidence.ranks);
    verdict.sure = verdict.sure && std::ranges::all_of(evidence.ranks, is_idle) &&
                   std::ranges::all_of(verdict.ranks, [&](std::size_t i) {
                       const auto& one = evidence.ranks[i];
                       return !judged(one).waits || std::min(one.stands_ms, stands_ms) >= surely_ms;
                   });
    return verdict;
}

HangVerdict of_gpus(const HangEvidence& evidence, const HangVerdict& stacks) {
    const bool all_wait = stacks.kind == HangVerdict::Kind::same_collective;
    if (!all_wait || evidence.gpu_faults.empty()) {
        return {};
    }
    const auto& [node, faults] = *evidence.gpu_faults.begin();
    HangVerdict verdict{.kind = HangVerdict::Kind::behind,
                        .cause = HangCause::gpu_fault,
                        .ranks = ranks_on(node, evidence),
                        .awaits = stacks.awaits,
                        .text = node + ": " + faults.front(),
                        .hint = "see `nvidia-smi -q` there, and its host's kernel log for the Xid; leave the "
                                "node out until it is mended"};
    if (faults.size() > 1) {
        verdict.text += ", and " + std::to_string(faults.size() - 1) + " more";
    }
    verdict.sure = std::ranges::all_of(evidence.ranks,
                                       [](const LocatedStack& one) { return one.stands_ms >= surely_ms; });
    return verdict;
}

HangVerdict of_network(const HangEvidence& evidence, const HangVerdict& stacks) {
    if (stacks.kind != HangVerdict::Kind::same_collective) {
        return {};
    }
    using Link = std::pair<std::string, std::string>; // who sends, to whom
    std::set<Link> links;
    for (const auto& [from, addresses] : evidence.unanswered) {
        for (const auto& address : addresses) {
            const auto to = evidence.nodes.find(address);
            if (to != evidence.nodes.end() && to->second != from) {
                links.emplace(from, to->second);
            }
        }
    }
    if (links.empty()) {
        return {};
    }
    std::string ways;
    std::size_t named = 0;
    for (const auto& [from, to] : links) {
        if (++named <= most_ways) {
            ways += (named == 1 ? "to " : ", to ") + from + " from " + to;
        }
    }
    ways += named > most_ways ? " and so on, " + counted(named, "way") + " in all" : "";
    HangVerdict verdict{.kind = HangVerdict::Kind::same_collective,
                        .cause = HangCause::network,
                        .sure = true,
                        .awaits = stacks.awaits,
                        .text = "over the network no answer comes " + ways + "; all wait in " + stacks.awaits,
                        .hint = "the network between them: `dockdist check`, and their switch"};
    // Of three nodes and more, the only one that is at an end of each of them is cut off.
    std::set<std::string> at_each{links.begin()->first, links.begin()->second};
    for (const auto& link : links) {
        std::erase_if(at_each, [&](const auto& node) { return node != link.first && node != link.second; });
    }
    std::set<std::string> nodes;
    for (const auto& rank : evidence.ranks) {
        nodes.insert(rank.node);
    }
    if (at_each.size() == 1 && nodes.size() > 2) {
        verdict.kind = HangVerdict::Kind::behind;
        verdict.ranks = ranks_on(*at_each.begin(), evidence);
    }
    return verdict;
}

} // namespace dockdist

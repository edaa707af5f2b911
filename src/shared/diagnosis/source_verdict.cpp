#include "shared/diagnosis/source_verdict.hpp"

#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/ras.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

bool is_idle(const LocatedStack& rank) {
    return judged(rank).waits || !works(*rank.stack);
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
                        .awaits = stacks.awaits,
                        .text = node + ": " + faults.front(),
                        .hint = "see `nvidia-smi -q` there, and its host's kernel log for the Xid; leave the "
                                "node out until it is mended"};
    if (faults.size() > 1) {
        verdict.text += ", and " + std::to_string(faults.size() - 1) + " more";
    }
    for (std::size_t i = 0; i < evidence.ranks.size(); ++i) {
        if (evidence.ranks[i].node == node) {
            verdict.ranks.push_back(i);
        }
    }
    verdict.sure = std::ranges::all_of(evidence.ranks,
                                       [](const LocatedStack& one) { return one.stands_ms >= surely_ms; });
    return verdict;
}

} // namespace dockdist

#include "shared/diagnosis/verdict.hpp"

#include "shared/diagnosis/source_verdict.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace dockdist {
namespace {

using State = wire::RankStack::State;

constexpr std::int64_t stands_ms = 10'000; // that all are silent, before it is said that all wait
constexpr std::size_t most_named = 4;

using Places = std::map<std::string, std::vector<std::size_t>>; // who stands there, of those that were given

Places places_of(const std::vector<JudgedRank>& all) {
    Places places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        places[frame_words(*all[i].frame)].push_back(i);
    }
    return places;
}

std::size_t size_of(const Places::value_type& place) {
    return place.second.size();
}

std::string others_words(const std::vector<JudgedRank>& waiting) {
    const auto places = places_of(waiting);
    return (waiting.size() == 1 ? "another one waits" : std::to_string(waiting.size()) + " others wait") +
           " for it in " + std::ranges::max_element(places, {}, size_of)->first;
}

// Where most of them wait.
std::string awaits_of(const std::vector<JudgedRank>& waiting) {
    std::map<std::string, std::size_t> places;
    for (const auto& one : waiting) {
        ++places[await_words(one)];
    }
    return std::ranges::max_element(places, {}, &std::pair<const std::string, std::size_t>::second)->first;
}

bool at_rendezvous(const std::vector<JudgedRank>& waiting) {
    return std::ranges::all_of(
        waiting, [](const JudgedRank& one) { return one.place.business == Business::rendezvous; });
}

// What a process's state says is a fact, whatever others do; that one merely stands is sure where nobody else
// works either, and the others wait for ranks rather than for their GPUs.
bool is_sure(HangCause cause, const std::vector<HangCause>& causes, const std::vector<JudgedRank>& waiting) {
    if (cause <= HangCause::holds_gil) {
        return true;
    }
    const bool some_work =
        std::ranges::any_of(causes, [](HangCause each) { return each >= HangCause::busy; });
    return cause < HangCause::busy && !some_work && !std::ranges::all_of(waiting, &JudgedRank::waits_for_gpu);
}

HangVerdict behind(const std::vector<JudgedRank>& all, const std::vector<JudgedRank>& waiting) {
    HangVerdict verdict{.kind = HangVerdict::Kind::behind};
    std::vector<HangCause> causes;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].waits) {
            who.push_back(i);
            causes.push_back(cause_of(all[i], at_rendezvous(waiting)));
        }
    }
    verdict.cause = *std::ranges::min_element(causes);
    verdict.sure = is_sure(verdict.cause, causes, waiting);
    std::string names;
    for (std::size_t i = 0; i < who.size(); ++i) {
        if (causes[i] != verdict.cause) {
            continue;
        }
        verdict.ranks.push_back(who[i]);
        if (verdict.ranks.size() <= most_named) {
            names += (names.empty() ? "" : ", ") + rank_words(all[who[i]]);
        }
    }
    if (verdict.ranks.size() > most_named) {
        names += " and " + std::to_string(verdict.ranks.size() - most_named) + " more";
    }
    const auto& first = all[verdict.ranks.front()];
    auto [reason, hint] = words_of(first, verdict.cause);
    verdict.where = first.frame == nullptr ? std::string() : frame_words(*first.frame);
    verdict.awaits = awaits_of(waiting);
    verdict.text = names + ": " + reason + "; " + others_words(waiting);
    verdict.hint = std::move(hint);
    return verdict;
}

// All of them wait for others.
HangVerdict of_waiting(const std::vector<JudgedRank>& all) {
    const bool still = std::ranges::none_of(
        all, [](const JudgedRank& one) { return one.waits_for_gpu || one.rank->stack->io_bytes >= 4096; });
    const bool long_still = still && std::ranges::all_of(all, [](const JudgedRank& one) {
                                return one.rank->stands_ms >= surely_ms;
                            });
    const auto places = places_of(all);
    if (places.size() == 1) {
        const bool comes = all.front().place.business == Business::rendezvous;
        return {.kind = HangVerdict::Kind::same_collective,
                .cause = HangCause::peers,
                .sure = long_still,
                .awaits = awaits_of(all),
                .text = "all wait for each other in " + places.begin()->first,
                .hint =
                    comes ? "a rank that was to come is missing, or cannot reach the others: `dockdist check`"
                          : "their GPUs or the network between them: `dockdist check --deep`"};
    }
    const auto fewest = std::ranges::min_element(places, {}, size_of);
    const auto& few = fewest->second;
    std::vector<JudgedRank> others;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::ranges::find(few, i) == few.end()) {
            others.push_back(all[i]);
        }
    }
    return {.kind = HangVerdict::Kind::mismatch,
            .cause = HangCause::other_collective,
            .sure = still,
            .ranks = few,
            .where = await_words(all[few.front()]),
            .awaits = awaits_of(others),
            .text = rank_words(all[few.front()]) +
                    (few.size() == 1 ? "" : " and " + std::to_string(few.size() - 1) + " more") + " wait" +
                    (few.size() == 1 ? "s" : "") + " in " + fewest->first + ", others in " +
                    std::ranges::max_element(places, {}, size_of)->first,
            .hint = "ranks have to call the same collectives in the same order: one of them has left one "
                    "out, or has one more"};
}

HangVerdict of_stacks(const std::vector<LocatedStack>& ranks) {
    std::vector<JudgedRank> all;
    std::ranges::transform(ranks, std::back_inserter(all), judged);
    std::vector<JudgedRank> waiting;
    std::ranges::copy_if(all, std::back_inserter(waiting), &JudgedRank::waits);
    if (waiting.empty() || all.size() < 2) {
        return {};
    }
    // Who cannot be read is no culprit for that, unless its state alone says so.
    const bool unread = std::ranges::any_of(all, [](const JudgedRank& one) {
        const auto state = one.rank->stack->state;
        return !one.known && (state == State::running || state == State::sleeping);
    });
    if (unread) {
        return {};
    }
    if (waiting.size() < all.size()) {
        return behind(all, waiting);
    }
    const bool stand = std::ranges::all_of(all, [](const JudgedRank& one) {
        const auto& stack = *one.rank->stack;
        return std::max(stack.silent_ms, stack.rests_ms) >= stands_ms && !stack.moves;
    });
    return stand ? of_waiting(all) : HangVerdict();
}

// Who does not wait for others, and writes, may do all there is to do.
HangVerdict unless_at_work(HangVerdict verdict, const HangEvidence& evidence) {
    const auto is_at_work = [&](std::size_t i) {
        const auto& one = evidence.ranks[i];
        const auto state = one.stack->state;
        return one.stack->silent_ms < evidence.writes_ms && !judged(one).waits &&
               (state == State::running || state == State::sleeping);
    };
    verdict.sure = verdict.sure && std::ranges::none_of(verdict.ranks, is_at_work);
    return verdict;
}

} // namespace

std::string_view to_string(HangVerdict::Kind kind) {
    constexpr std::array<std::string_view, 4> names{"none", "behind", "mismatch", "same_collective"};
    return names.at(static_cast<std::size_t>(kind));
}

// Who is surely at fault; else that it surely hangs; else who may be at fault.
HangVerdict judge(const HangEvidence& evidence) {
    auto stacks = unless_at_work(of_stacks(evidence.ranks), evidence);
    auto flights = unless_at_work(of_flights(evidence.ranks), evidence);
    auto ras = unless_at_work(of_ras(evidence), evidence);
    auto gpus = of_gpus(evidence, stacks);
    auto network = of_network(evidence, stacks);
    for (const auto* const each : {&stacks, &gpus, &flights, &ras}) {
        if (each->sure && !each->ranks.empty()) {
            return *each;
        }
    }
    if (network.sure) {
        return network;
    }
    for (const auto* const each : {&gpus, &flights, &stacks, &ras}) {
        if (!stacks.sure && !each->ranks.empty()) {
            return *each;
        }
    }
    return stacks;
}

HangVerdict judge(const std::vector<LocatedStack>& ranks) {
    return judge(HangEvidence{.ranks = ranks});
}

wire::Hang hang_of(const HangVerdict& verdict, const HangEvidence& evidence, int attempt) {
    wire::Hang hang{.attempt = attempt,
                    .cause = std::string(to_string(verdict.cause)),
                    .where = verdict.where,
                    .awaits = verdict.awaits,
                    .restart_helps = std::string(to_string(restart_helps(verdict.cause))),
                    .text = verdict.text,
                    .hint = verdict.hint};
    if (!verdict.ranks.empty()) {
        const auto& first = evidence.ranks[verdict.ranks.front()];
        const bool whole_node =
            (verdict.cause == HangCause::gpu_fault || verdict.cause == HangCause::network) &&
            verdict.ranks.size() > 1;
        hang.node = first.node;
        hang.rank = whole_node ? -1 : first.stack->rank;
    }
    return hang;
}

std::vector<std::string> hang_lines(const wire::Hang& hang) {
    const bool asks =
        hang.cause == to_string(HangCause::input) || hang.cause == to_string(HangCause::debugger);
    std::vector<std::string> lines{(asks ? "the job waits: " : "the job hangs: ") + hang.text};
    if (!hang.awaits.empty()) {
        lines.push_back("others wait in " + hang.awaits);
    }
    const std::string restart = hang.restart_helps == "yes"  ? "a restart helps"
                                : hang.restart_helps == "no" ? "a restart does not help"
                                                             : "whether a restart helps is not known";
    lines.push_back(hang.hint + (hang.hint.empty() ? "" : "; ") + restart +
                    "; `dockdist diagnose` tells more");
    return lines;
}

} // namespace dockdist

#include "shared/diagnosis/verdict.hpp"

#include "shared/diagnosis/place.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace dockdist {
namespace {

using State = wire::RankStack::State;

constexpr std::int64_t stands_ms = 10'000; // that all are silent, before it is said that all wait
constexpr int works_percent = 50;
constexpr int waits_percent = 20; // in the backward pass
constexpr std::size_t most_named = 4;

struct Judged {
    const LocatedStack* rank = nullptr;
    CodePlace place{};
    const wire::StackFrame* frame = nullptr; // of its own code
    bool known = false;                      // its stack was read
    bool waits = false;                      // for other ranks
};

const wire::ThreadStack* gil_holder(const wire::RankStack& stack) {
    const auto found = std::ranges::find(stack.threads, true, &wire::ThreadStack::holds_gil);
    return found == stack.threads.end() ? nullptr : &*found;
}

Judged judged(const LocatedStack& rank) {
    Judged one{.rank = &rank};
    const auto* const main = wire::main_thread(rank.stack->threads, rank.stack->pid);
    if (main == nullptr || main->frames.empty()) {
        return one;
    }
    one.known = true;
    one.place = place_of(*main);
    one.frame = &main->frames[one.place.frame];
    // NCCL's and gloo's waits may spin: what a rank that waits takes of a processor says nothing.
    const bool stands = rank.stack->state == State::running || rank.stack->state == State::sleeping;
    one.waits =
        stands && (one.place.business == Business::collective || one.place.business == Business::rendezvous ||
                   (one.place.business == Business::backward && rank.stack->cpu_percent < waits_percent));
    return one;
}

// By the file's name alone.
std::string frame_words(const wire::StackFrame& frame) {
    return frame_text({frame.function, frame.file.substr(frame.file.rfind('/') + 1), frame.line});
}

std::string rank_words(const Judged& one) {
    return (one.rank->stack->rank < 0 ? "the command" : "rank " + std::to_string(one.rank->stack->rank)) +
           " on " + one.rank->node;
}

// What it does instead of what the others wait for.
std::pair<std::string, std::string> reason_of(const Judged& one) {
    const auto& stack = *one.rank->stack;
    const auto where = one.frame == nullptr ? std::string() : ", in " + frame_words(*one.frame);
    switch (stack.state) {
    case State::stopped:
        return {"it was stopped (SIGSTOP)" + where,
                "somebody or something has stopped it: `kill -CONT` lets it go on"};
    case State::traced:
        return {"a debugger holds it" + where, "let the debugger go"};
    case State::in_kernel:
        return {"it waits in the kernel" + (stack.waits_in.empty() ? "" : " in " + stack.waits_in) + where,
                "a file server, a disk or a driver does not answer there; a restart on that node does not "
                "help while it is so"};
    case State::ending:
        return {"it is ending", ""};
    case State::running:
    case State::sleeping:
        break;
    }
    const auto* const holder = gil_holder(stack);
    if (stack.moves || stack.cpu_percent >= works_percent) {
        const bool holds = !stack.moves && holder != nullptr;
        return {std::string(holds ? "it works, and holds Python's GIL" : "it works") + where,
                holds ? "a call into C that does not come back keeps its other threads from running"
                      : "it is slower than the others, or has more to do"};
    }
    return {"it " + business_text(one.place.business) + where,
            one.place.business == Business::data
                ? "see its data loader's processes: `--threads`, and the file server that they read from"
                : ""};
}

using Places = std::map<std::string, std::vector<std::size_t>>; // who stands there, of those that were given

Places places_of(const std::vector<Judged>& all) {
    Places places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        places[frame_words(*all[i].frame)].push_back(i);
    }
    return places;
}

std::size_t size_of(const Places::value_type& place) {
    return place.second.size();
}

std::string others_words(const std::vector<Judged>& waiting) {
    const auto places = places_of(waiting);
    return (waiting.size() == 1 ? "another one waits" : std::to_string(waiting.size()) + " others wait") +
           " for it in " + std::ranges::max_element(places, {}, size_of)->first;
}

HangVerdict behind(const std::vector<Judged>& all, const std::vector<Judged>& waiting) {
    HangVerdict verdict{.kind = HangVerdict::Kind::behind};
    std::string names;
    const Judged* first = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].waits) {
            continue;
        }
        first = first == nullptr ? &all[i] : first;
        verdict.ranks.push_back(i);
        if (verdict.ranks.size() <= most_named) {
            names += (names.empty() ? "" : ", ") + rank_words(all[i]);
        }
    }
    if (verdict.ranks.size() > most_named) {
        names += " and " + std::to_string(verdict.ranks.size() - most_named) + " more";
    }
    auto [reason, hint] = reason_of(*first);
    verdict.text = names + ": " + reason + "; " + others_words(waiting);
    verdict.hint = std::move(hint);
    return verdict;
}

// All of them wait for others.
HangVerdict of_waiting(const std::vector<Judged>& all) {
    const auto places = places_of(all);
    if (places.size() == 1) {
        const bool comes = all.front().place.business == Business::rendezvous;
        return {.kind = HangVerdict::Kind::same_collective,
                .text = "all wait for each other in " + places.begin()->first,
                .hint =
                    comes ? "a rank that was to come is missing, or cannot reach the others: `dockdist check`"
                          : "their GPUs or the network between them: `dockdist check --deep`"};
    }
    const auto fewest = std::ranges::min_element(places, {}, size_of);
    const auto& few = fewest->second;
    return {.kind = HangVerdict::Kind::mismatch,
            .ranks = few,
            .text = rank_words(all[few.front()]) +
                    (few.size() == 1 ? "" : " and " + std::to_string(few.size() - 1) + " more") + " wait" +
                    (few.size() == 1 ? "s" : "") + " in " + fewest->first + ", others in " +
                    std::ranges::max_element(places, {}, size_of)->first,
            .hint = "ranks have to call the same collectives in the same order: one of them has left one "
                    "out, or has one more"};
}

} // namespace

std::string_view to_string(HangVerdict::Kind kind) {
    constexpr std::array<std::string_view, 4> names{"none", "behind", "mismatch", "same_collective"};
    return names.at(static_cast<std::size_t>(kind));
}

HangVerdict judge(const std::vector<LocatedStack>& ranks) {
    std::vector<Judged> all;
    std::ranges::transform(ranks, std::back_inserter(all), judged);
    std::vector<Judged> waiting;
    std::ranges::copy_if(all, std::back_inserter(waiting), &Judged::waits);
    if (waiting.empty() || all.size() < 2) {
        return {};
    }
    // Who cannot be read is no culprit for that, unless its state alone says so.
    const bool unread = std::ranges::any_of(all, [](const Judged& one) {
        const auto state = one.rank->stack->state;
        return !one.known && (state == State::running || state == State::sleeping);
    });
    if (unread) {
        return {};
    }
    if (waiting.size() < all.size()) {
        return behind(all, waiting);
    }
    const bool stand = std::ranges::all_of(all, [](const Judged& one) {
        return one.rank->stack->silent_ms >= stands_ms && !one.rank->stack->moves;
    });
    return stand ? of_waiting(all) : HangVerdict();
}

} // namespace dockdist

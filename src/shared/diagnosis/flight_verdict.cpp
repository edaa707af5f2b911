#include "shared/core/number.hpp"
#include "shared/diagnosis/cause.hpp"
#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/rank_names.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace dockdist {
namespace {

using Records = std::map<int, const wire::FlightRecord*>;

constexpr std::int64_t waits_long_ms = 10'000; // what is launched in health is done sooner

struct Waiting {
    int rank = 0;
    const wire::FlightGroup* group = nullptr;
};

const wire::FlightGroup* group_named(const wire::FlightRecord& record, const std::string& name) {
    const auto found = std::ranges::find(record.groups, name, &wire::FlightGroup::name);
    return found == record.groups.end() ? nullptr : &*found;
}

// What it launched first of all that is not done.
const wire::FlightGroup* first_of(const wire::FlightRecord& record) {
    const wire::FlightGroup* first = nullptr;
    for (const auto& group : record.groups) {
        if (group.waits && (first == nullptr || group.first.record < first->first.record)) {
            first = &group;
        }
    }
    return first;
}

// "nccl:send 0->1" → 1, "nccl:recv 0<-8" → 8: of the group's ranks.
std::optional<int> partner_of(const wire::FlightGroup& group) {
    const auto arrow = group.first.name.find_last_of("->");
    const auto number = whole_number<std::size_t>(arrow == std::string::npos
                                                      ? std::string_view()
                                                      : std::string_view(group.first.name).substr(arrow + 1));
    return number && *number < group.ranks.size() ? std::optional(group.ranks[*number]) : std::nullopt;
}

// Of whom it is known that they have not launched what this one waits in.
std::vector<int> missing_for(const Waiting& one, const Records& records) {
    auto members = one.group->ranks;
    if (one.group->first.p2p) {
        const auto partner = partner_of(*one.group);
        members = partner ? std::vector{*partner} : std::vector<int>();
    }
    std::erase_if(members, [&](int member) {
        const auto found = records.find(member);
        if (member == one.rank || found == records.end()) {
            return true;
        }
        const auto& record = *found->second;
        const auto* const group = group_named(record, one.group->name);
        if (record.silent) {
            return false;
        }
        // Sends and receives are counted by each rank for itself.
        if (group == nullptr || one.group->first.p2p || group->enqueued == wire::no_collective) {
            return first_of(record) != nullptr;
        }
        return group->enqueued >= one.group->first.sequence;
    });
    return members;
}

bool waits_for_nobody(const wire::FlightRecord& record) {
    return record.silent || first_of(record) == nullptr;
}

std::string what_text(const wire::FlightGroup& group) {
    const bool described = !group.description.empty() && group.description != "undefined";
    return group.first.name + " #" + std::to_string(group.first.sequence) + " of " +
           (described ? group.description : "group " + group.name);
}

std::string where_text(const wire::FlightEntry& entry) {
    return entry.frame.file.empty() ? "" : ", in " + frame_words(entry.frame);
}

Evidence behind_by(const std::vector<Waiting>& waiting, const Records& records) {
    std::set<int> guilty;
    const wire::FlightGroup* wanted = nullptr;
    for (const auto& one : waiting) {
        for (const int rank : missing_for(one, records)) {
            if (waits_for_nobody(*records.at(rank))) {
                guilty.insert(rank);
                const bool says_more = wanted != nullptr && wanted->first.p2p && !one.group->first.p2p;
                wanted = wanted == nullptr || says_more ? one.group : wanted;
            }
        }
    }
    if (guilty.empty()) {
        return {};
    }
    const std::vector<int> ranks(guilty.begin(), guilty.end());
    const bool silent = std::ranges::all_of(ranks, [&](int rank) { return records.at(rank)->silent; });
    const bool one = ranks.size() == 1;
    return {.kind = HangVerdict::Kind::behind,
            .ranks = ranks,
            .text = rank_names(ranks) +
                    (silent ? (one ? " does" : " do") + std::string(" not answer it")
                            : (one ? " has" : " have") + std::string(" not launched ") + what_text(*wanted)) +
                    ", and " + std::to_string(waiting.size()) +
                    (waiting.size() == 1 ? " other waits" : " others wait") + where_text(wanted->first),
            .hint = silent ? "it is stopped, or something in it holds Python's GIL" : ""};
}

// A GPU that has not done what its peers' have.
Evidence stuck_by(const std::vector<Waiting>& waiting, const Records& records) {
    std::vector<int> guilty;
    const wire::FlightGroup* what = nullptr;
    for (const auto& one : waiting) {
        const bool done_by_a_peer =
            !one.group->first.p2p && std::ranges::any_of(one.group->ranks, [&](int member) {
                const auto found = records.find(member);
                const auto* const group =
                    found == records.end() ? nullptr : group_named(*found->second, one.group->name);
                return member != one.rank && group != nullptr &&
                       group->completed >= one.group->first.sequence;
            });
        if (done_by_a_peer) {
            guilty.push_back(one.rank);
            what = what == nullptr ? one.group : what;
        }
    }
    if (guilty.empty()) {
        return {};
    }
    auto text = rank_names(guilty) + (guilty.size() == 1 ? " has" : " have") + " not finished " +
                what_text(*what) + ", which its peers have" + where_text(what->first);
    return {.kind = HangVerdict::Kind::behind,
            .ranks = std::move(guilty),
            .text = std::move(text),
            .hint = "a GPU that does nothing more: its host's kernel log (Xid), `dockdist gpus`"};
}

// What each rank gives may differ there.
bool may_differ(std::string_view name) {
    constexpr std::array<std::string_view, 5> uneven{"all_to_all", "alltoall", "scatter", "gather",
                                                     "coalesced"};
    constexpr std::array<std::string_view, 3> even{"reduce_scatter", "all_gather", "allgather"};
    const auto stands_in = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
    return std::ranges::any_of(uneven, stands_in) && std::ranges::none_of(even, stands_in);
}

std::string shape_of(const wire::FlightEntry& entry) {
    return entry.name + (may_differ(entry.name) ? "" : " " + std::to_string(entry.elements));
}

Evidence mismatch_by(const Records& records) {
    using Place = std::pair<std::string, std::int64_t>; // a group, a number of a collective
    std::map<Place, std::map<std::string, std::vector<Waiting>>> places;
    for (const auto& [rank, record] : records) {
        for (const auto& group : record->groups) {
            if (group.waits && !group.first.p2p && group.first.waits_ms >= waits_long_ms) {
                places[{group.name, group.first.sequence}][shape_of(group.first)].push_back({rank, &group});
            }
        }
    }
    for (const auto& [place, shapes] : places) {
        if (shapes.size() < 2) {
            continue;
        }
        const auto size_of = [](const auto& shape) { return shape.second.size(); };
        const auto& few = std::ranges::min_element(shapes, {}, size_of)->second;
        const auto& many = std::ranges::max_element(shapes, {}, size_of)->second;
        const auto& other = &many == &few ? shapes.rbegin()->second : many;
        std::vector<int> ranks;
        std::ranges::transform(few, std::back_inserter(ranks), &Waiting::rank);
        const auto& own = *few.front().group;
        const auto& theirs = *other.front().group;
        auto text = rank_names(ranks) + (ranks.size() == 1 ? " calls " : " call ") + what_text(own) +
                    " with " + own.first.sizes + where_text(own.first) + ", others " + theirs.first.name +
                    " with " + theirs.first.sizes + where_text(theirs.first);
        return {.kind = HangVerdict::Kind::mismatch,
                .ranks = std::move(ranks),
                .text = std::move(text),
                .hint = "ranks have to call the same collectives in the same order, on tensors of one size"};
    }
    return {};
}

// Each waits for one that waits for another one, in another group.
Evidence cycle_by(const std::vector<Waiting>& waiting, const Records& records) {
    std::map<int, int> next;
    std::map<int, const wire::FlightGroup*> at;
    for (const auto& one : waiting) {
        at[one.rank] = one.group;
        if (const auto missing = missing_for(one, records); !missing.empty()) {
            next[one.rank] = missing.front();
        }
    }
    std::set<int> seen;
    int rank = next.empty() ? -1 : next.begin()->first;
    while (next.contains(rank) && seen.insert(rank).second) {
        rank = next.at(rank);
    }
    if (!next.contains(rank)) {
        return {};
    }
    const int other = next.at(rank);
    return {.kind = HangVerdict::Kind::mismatch,
            .ranks = {rank, other},
            .text = rank_names({rank}) + " waits for " + rank_names({other}) + " in " +
                    what_text(*at.at(rank)) + where_text(at.at(rank)->first) + ", and that one waits in " +
                    what_text(*at.at(other)) + where_text(at.at(other)->first),
            .hint = "ranks have to use their process groups in the same order"};
}

Evidence all_wait(const std::vector<Waiting>& waiting) {
    const auto& first = *waiting.front().group;
    const bool same = std::ranges::all_of(waiting, [&](const Waiting& one) {
        return one.group->name == first.name && one.group->first.sequence == first.first.sequence;
    });
    return {.kind = HangVerdict::Kind::same_collective,
            .text = "all ranks have launched " + (same ? what_text(first) : "what they wait in") +
                    where_text(first.first) + ", and it is done on none",
            .hint = "their GPUs or the network between them: `dockdist check --deep`"};
}

} // namespace

Evidence judge_flight(const std::vector<RankFlight>& ranks) {
    Records records;
    std::vector<Waiting> waiting;
    std::size_t unknown = 0;
    Evidence nothing;
    for (const auto& [rank, record] : ranks) {
        if (record == nullptr || (record->version.empty() && !record->silent)) {
            ++unknown;
            if (record != nullptr && !record->problem.empty() && nothing.text.empty()) {
                nothing.text = "no evidence of rank " + std::to_string(rank) + ": " + record->problem;
            }
            continue;
        }
        records[rank] = record;
        const auto* const first = first_of(*record);
        if (first != nullptr && first->first.waits_ms >= waits_long_ms) {
            waiting.push_back({rank, first});
        }
    }
    if (waiting.empty()) {
        return nothing;
    }
    for (auto&& found : {mismatch_by(records), behind_by(waiting, records), stuck_by(waiting, records),
                         cycle_by(waiting, records)}) {
        if (found.kind != HangVerdict::Kind::none) {
            return found;
        }
    }
    return waiting.size() == records.size() && unknown == 0 ? all_wait(waiting) : nothing;
}

} // namespace dockdist
